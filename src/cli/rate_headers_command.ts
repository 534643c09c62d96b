/**
 * `nthbouncer rate-headers`: reads answers' headers as JSON lines from standard input, and prints
 * what the server would read from them.
 */
import type { Command } from './command.ts';
import { print } from './command.ts';
import { readRateHeaders } from './rate_headers.ts';

export const rateHeadersCommand: Command = {
  add: (program) => {
    program.command('rate-headers')
      .description('read JSON lines {"now", "headers", …} and print the rate limits they tell')
      .action(async () => {
        for await (const line of readRateHeaders(linesOf(Deno.stdin.readable))) print(line);
      });
  },
};

/** The lines of a stream; the last one need not end in a line break. */
async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
