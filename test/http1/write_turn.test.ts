import { expect, it } from 'vitest';
import { ok, serve, settled } from '../support/caller.ts';
import { MemoryLine } from '../support/lines.ts';

it('lets all be answered that were read at once before the first is written to', async () => {
  const steps: string[] = [];
  const noting = () => {
    const line = new MemoryLine();
    const write = line.write.bind(line);
    line.write = (bytes) => {
      steps.push('written');
      return write(bytes);
    };
    serve(() => {
      steps.push('answered');
      return ok('one');
    }, line);
    return line;
  };
  const lines = [noting(), noting(), noting()];
  const answered = ['answered', 'answered', 'answered'];
  for (const round of [1, 2]) {
    for (const line of lines) line.gives('GET / HTTP/1.1\r\nhost: h\r\n\r\n');
    await settled();
    expect(steps.splice(0), `round ${round}`).toEqual([
      ...answered,
      'written',
      'written',
      'written',
    ]);
  }
});
