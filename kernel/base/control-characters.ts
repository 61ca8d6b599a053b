/** What a terminal obeys, and what breaks a line or turns the order of the text round that follows it. */
export const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
