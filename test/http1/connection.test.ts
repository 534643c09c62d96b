import { expect, it } from 'vitest';
import { Connection } from '../../src/http1/connection.ts';
import { MemoryLine } from '../support/lines.ts';

it.each([1022, 1023, 1024, 1025])('%i characters are written as ASCII or not at all', (length) => {
  for (const odd of [0, 1, 2, 3]) {
    const line = new MemoryLine();
    const text = '\xe9'.repeat(odd).padStart(length, 'x');
    const isAscii = odd === 0 && length <= 1024;
    expect(new Connection(line).writeAscii(text) !== null, `${odd} others`).toBe(isAscii);
    if (!isAscii) expect(line.sent).toBe('');
  }
});
