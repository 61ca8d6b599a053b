/** Characters that control a terminal, break a line or reverse the direction of the text after them. */
export const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
