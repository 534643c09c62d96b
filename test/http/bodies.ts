/**
 * Bodies by what they should be taken for, of every shape that callers and attackers send.
 */
const bytes = (...codes: number[]) => new Uint8Array(codes);
export const text = (value: string) => new TextEncoder().encode(value);
const deep = '['.repeat(30_000) + ']'.repeat(30_000);
const deepObject = '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000);
/** A JSON object of exactly so many bytes. */
export const padded = (size: number) => `{"pad":"${'x'.repeat(size - 10)}"}`;

export const empty: Record<string, string | Uint8Array> = {
  'nothing': '',
  'blanks': '  ',
  'line ends and tabs': '\r\n\t ',
  'a byte order mark': bytes(0xef, 0xbb, 0xbf),
};
export const fine: Record<string, string | Uint8Array> = {
  'an empty object': '{}',
  'an object between blanks': ' \n{}\t',
  'an object after a byte order mark': bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d),
  'unknown fields': '{"colour":"red","nested":{"a":[1,2]}}',
  'a __proto__ that is ignored': '{"__proto__":{"slots":9,"waitMs":-1},"constructor":1}',
  'fields that are null': '{"slots":null,"waitMs":null,"tokens":null,"holder":null}',
  'deep nesting in an unknown field': `{"x":${deep}}`,
  'deep objects in an unknown field': `{"x":${deepObject}}`,
  'a field twice, the last of them right': '{"slots":"no","slots":1}',
};
export const wrong: Record<string, string | Uint8Array> = {
  'a brace': '{',
  'half a word': 'nul',
  'null': 'null',
  'a list': '[]',
  'deep lists': deep,
  'a number': '5',
  'a text': '"x"',
  'true': 'true',
  'two objects': '{}{}',
  'a comment': '{}//',
  'single quotes': "{'slots':1}",
  'a form': 'slots=1&waitMs=5',
  'bytes that are no UTF-8': bytes(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d),
  'a cut off character': bytes(0x22, 0xe2, 0x82),
  'UTF-16': bytes(0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00),
  'a NUL': bytes(0x7b, 0x00, 0x7d),
};
