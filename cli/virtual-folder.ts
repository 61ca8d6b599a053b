/** Whether a path is in a virtual file system of the kernel: it looks writable and is not. */
export const isVirtual = (path: string): boolean => /^\/(?:proc|sys)(?:\/|$)/.test(path);
