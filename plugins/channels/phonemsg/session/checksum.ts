const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

/** CRC-32 of a text's UTF-8, in eight hexadecimal digits. Node has it from version 22 on. */
export function crc32(text: string): string {
  let value = 0xffffffff;
  for (const byte of Buffer.from(text)) value = (value >>> 8) ^ (TABLE[(value ^ byte) & 255] as number);
  return ((value ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
}
