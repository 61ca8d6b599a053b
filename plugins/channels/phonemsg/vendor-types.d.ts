declare module "qrcode" {
  const qrcode: {
    create(text: string, options: { errorCorrectionLevel: "L" | "M" }): { modules: { size: number; data: Uint8Array } };
  };
  export default qrcode;
}
