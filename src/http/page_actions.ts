/**
 * What the page's forms do: each is a row that makes a call of the JSON API out of a form. What the
 * API refuses is shown in the form; what it did shows on the page that follows.
 */
import type { Context } from 'hono';
import { html } from 'hono/html';
import { CEILINGS } from '../ceilings.ts';
import { changeOf } from '../admin/changes.ts';
import { Problem } from '../admin/layout.tsx';
import { FreshKey } from '../admin/keys.tsx';
import { readBody } from './body.ts';
import { Fault } from './fault.ts';
import type { Form } from './form.ts';
import { formOf, jsonOfForm } from './form.ts';
import type { Ask, Told } from './inside.ts';
import { askApi } from './inside.ts';
import { goTo, pieceAnswer } from './page_answer.ts';
import { problemAnswer, saveChange } from './page_changes.ts';
import type { Server } from './server.ts';
import { epochMs } from './server.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** How long the page waits for a drain before it shows what is still held. */
const DRAIN_SHOWN_MS = 300;

interface Action {
  /** Whether the pool's name must be typed. */
  readonly isConfirmed?: boolean;
  /** The page that follows, below the pool's; null: the list of pools. */
  readonly next: string | null;
  readonly ask: (form: Form, server: Server) => Ask;
  /** What is told in its form, where no page follows. */
  readonly says?: string;
}

/**
 * The instant that is so many units from now; null where nothing was typed, which means for ever,
 * as nothing else may. @throws SyntaxError
 */
function laterMs(typed: string | undefined, unitMs: number, server: Server): number | null {
  const text = typed?.trim() ?? '';
  if (text === '') return null;
  const units = Number(text);
  const ms = Math.round(units * unitMs);
  // JSON has no number that is infinite, and null in its place.
  if (units > 0 && Number.isFinite(ms)) return epochMs(server) + ms;
  throw new SyntaxError(`a number above 0 is wanted, not "${text}".`);
}

const post = (path: string) => (form: Form): Ask => ({
  method: 'POST',
  path,
  body: jsonOfForm(form),
});

const ACTIONS: Readonly<Record<string, Action>> = {
  pause: {
    next: '',
    ask: (form, server) => {
      const untilMs = laterMs(form.get('minutes'), MINUTE_MS, server);
      return { method: 'POST', path: '/pause', body: { ...jsonOfForm(form), untilMs } };
    },
  },
  resume: { next: '', ask: post('/resume') },
  forget: {
    next: '',
    ask: post('/governor/forget'),
    says: 'Forgotten; what callers report from now on teaches it anew.',
  },
  drain: { next: '', isConfirmed: true, ask: post('/drain') },
  delete: { next: null, isConfirmed: true, ask: () => ({ method: 'DELETE', path: '' }) },
  'take-back': {
    next: '/slots',
    ask: (form) => ({ method: 'DELETE', path: `/slots/${part(form, 'ref')}` }),
  },
  'revoke-key': {
    next: '/access',
    ask: (form) => ({ method: 'DELETE', path: `/keys/${part(form, 'id')}` }),
  },
  'make-key': {
    next: '/access',
    ask: (form, server) => {
      const expiresAt = laterMs(form.get('days'), DAY_MS, server);
      return { method: 'POST', path: '/keys', body: { ...jsonOfForm(form), expiresAt } };
    },
  },
};

/** Answers a form; one that cannot be read is told in it, and nothing was done. */
function answering(answer: (context: Context, server: Server) => Promise<Response>) {
  return async (context: Context, server: Server): Promise<Response> => {
    try {
      return await answer(context, server);
    } catch (error) {
      if (error instanceof Fault) return pieceAnswer(context, Problem({ message: error.message }));
      if (!(error instanceof SyntaxError)) throw error;
      return pieceAnswer(context, Problem({ message: `This cannot be read: ${error.message}` }));
    }
  };
}

export const makePool = answering(async (context, server) => {
  const body = jsonOfForm(await readForm(context, server));
  const told = await askApi(server, { method: 'POST', path: '/pools', body });
  if (!told.ok) return problemAnswer(context, told);
  return goTo(context, `/admin/pools/${String(told.json['name'])}`);
});

export const act = answering(async (context, server) => {
  const name = context.req.param('pool') ?? '';
  const what = context.req.param('what') ?? '';
  const change = changeOf(what);
  if (change !== undefined) {
    return await saveChange(context, server, { change, form: await readForm(context, server) });
  }
  const action = Object.hasOwn(ACTIONS, what) ? ACTIONS[what] : undefined;
  if (action === undefined) return pieceAnswer(context, Problem({ message: 'Unknown action.' }));
  const form = await readForm(context, server);
  if (action.isConfirmed && form.get('confirm') !== name) {
    const message = 'The name that was typed is not the pool’s: nothing was done.';
    const issues = [{ path: 'confirm', reason: `type ${name} to confirm` }];
    return pieceAnswer(context, Problem({ message, issues }));
  }
  const ask = action.ask(form, server);
  const path = `/pools/${encodeURIComponent(name)}${ask.path}`;
  const told = await patiently(server, { ...ask, path }, what === 'drain');
  if (!told.ok) return problemAnswer(context, told);
  if (what === 'make-key') {
    return pieceAnswer(context, FreshKey({ value: String(told.json['key']) }));
  }
  if (action.says !== undefined) return pieceAnswer(context, html`${action.says}`);
  return goTo(context, action.next === null ? '/admin' : `/admin/pools/${name}${action.next}`);
});

/** Asks; a drain goes on when the page stops waiting for its end. */
function patiently(server: Server, ask: Ask, isDrain: boolean): Promise<Told> {
  if (!isDrain) return askApi(server, ask);
  const gone = new AbortController();
  server.scheduler.clock.after(DRAIN_SHOWN_MS, () => gone.abort());
  return askApi(server, { ...ask, signal: gone.signal });
}

function part(form: Form, name: string): string {
  return encodeURIComponent(form.get(name) ?? '');
}

async function readForm(context: Context, { deadlines }: Server): Promise<Form> {
  const bytesMax = CEILINGS.adminBodyBytes;
  const body = await readBody(context.req.raw, { bytesMax, deadlines });
  // A part of a form is none: what is missing in it would be taken for left empty.
  if (body.kind === 'too_large') throw new Fault('payload_too_large');
  if (body.kind !== 'bytes') throw new Fault('invalid_request');
  return formOf(new TextDecoder().decode(body.bytes));
}
