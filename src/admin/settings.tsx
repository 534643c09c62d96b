/**
 * A pool's settings as forms with bounds and units. Where its calls go is a form of its own.
 */
import type { Change, Shown } from './change_form.tsx';
import { ChangeForm } from './change_form.tsx';
import type { Field } from './fields.tsx';
import { Fields, ms } from './fields.tsx';
import type { PoolPage } from './pool.tsx';
import { PoolLayout } from './pool.tsx';
import { AsJson, JsonPage } from './as_json.tsx';
import { UPSTREAM, UpstreamForm } from './upstream.tsx';

/** The title of each part, and what a change of it will do. */
const TOLD: Readonly<Record<string, readonly [title: string, effect: string]>> = {
  concurrency: [
    'Concurrency',
    'Raised, it serves waiters at once. Lowered, it takes no slot away: nobody is granted one ' +
    'until enough have come back.',
  ],
  queue: ['Queue', 'Who waits already stays in the queue, for as long as it was told.'],
  lease: [
    'Lease',
    'Applies to leases that are granted from now on; held ones keep what they were told.',
  ],
  rate: [
    'Rate',
    'Counts what was started in the last 60 s too. While a rate is used up, callers wait.',
  ],
  log: ['Access log', 'What is beyond the new bounds is deleted soon, for good.'],
};

const SECTIONS: Readonly<Record<string, readonly Field[]>> = {
  concurrency: [
    {
      name: 'concurrency.mode:text',
      label: 'Mode',
      options: ['fixed', 'adaptive'],
      about:
        'fixed: the limit stays. adaptive: it moves between min and max by what callers report.',
    },
    {
      name: 'concurrency.limit:int',
      label: 'Limit (slots)',
      min: 1,
      max: 1_000_000,
      about: 'Fixed: what may be held at once. Adaptive: where it begins.',
    },
    {
      name: 'concurrency.min:int',
      label: 'Min (slots)',
      min: 1,
      max: 1_000_000,
      about: 'Counts while adaptive: never below.',
    },
    {
      name: 'concurrency.max:int',
      label: 'Max (slots)',
      min: 1,
      max: 1_000_000,
      about: 'Counts while adaptive: never above.',
    },
  ],
  queue: [
    {
      name: 'queue.maxDepth:int',
      label: 'Depth (waiters)',
      min: 0,
      max: 100_000,
      about: 'Who comes when it is full is refused at once; 0: nobody waits.',
    },
    ms(
      'Longest wait',
      'queue.timeoutMs',
      [0, 3_600_000],
      'Who asks for a longer wait gets this one.',
    ),
  ],
  lease: [
    ms(
      'Term',
      'lease.termMs',
      [1_000, 3_600_000],
      'A slot whose holder is silent for so long comes back.',
    ),
    ms('Renew every', 'lease.renewIntervalMs', [1, 3_600_000], 'Told to holders; below the term.'),
    ms(
      'Request timeout',
      'lease.requestTimeoutMs',
      [1_000, 86_400_000],
      'No lease lasts longer, however often it is renewed.',
    ),
  ],
  rate: [
    {
      name: 'rate.rpm:int?',
      label: 'Starts a minute',
      min: 1,
      max: 10_000_000,
      about: 'In any rolling 60 s; empty: no rate of yours.',
    },
    {
      name: 'rate.tpm:int?',
      label: 'LLM tokens a minute',
      min: 1,
      max: 10_000_000_000,
      about: 'In any rolling 60 s, of callers that tell them; empty: no rate of yours.',
    },
    {
      name: 'rate.burst:int?',
      label: 'Starts at once',
      min: 1,
      max: 10_000_000,
      about: 'Of the starts a minute; empty: all of them.',
    },
    {
      name: 'rate.kind:text',
      label: 'What a 429 means',
      options: ['auto', 'concurrency', 'rate'],
      about: 'concurrency: too many at once. rate: too fast. auto: it is found out.',
    },
    {
      name: 'rate.learn:bool',
      label: 'Rates are learned',
      options: [['true', 'from answers'], ['false', 'never']],
      about: 'never: the rates that are set here count alone.',
    },
    {
      name: 'rate.hints.resetUnit:text?',
      label: 'Resets are told in',
      options: [['', 'find out'], ['s', 'seconds'], ['ms', 'milliseconds']],
      about: 'The unit of a bare number in a header that tells of a reset.',
    },
    ms('Longest pause', 'rate.maxPauseMs', [0, 86_400_000], 'That an upstream can cause.'),
  ],
  log: [
    {
      name: 'log.retentionDays:int',
      label: 'Keep (days)',
      min: 1,
      max: 3_650,
      about: 'Older rows are deleted.',
    },
    {
      name: 'log.rowsMax:int',
      label: 'Keep (rows)',
      min: 0,
      max: 100_000_000,
      about: 'More rows are deleted, the oldest first.',
    },
  ],
};

const PARTS: Readonly<Record<string, Change>> = Object.fromEntries(
  Object.entries(SECTIONS).map(([path, fields]) => [path, {
    path,
    label: `Save ${(TOLD[path]?.[0] ?? path).toLowerCase()}`,
    draw: ({ spec }: Shown) => <Fields fields={fields} spec={spec} />,
  }]),
);

export const SETTINGS: Readonly<Record<string, Change>> = { ...PARTS, upstream: UPSTREAM };

export function SettingsPage(
  { frame, shown, isJson }: { frame: PoolPage; shown: Shown; isJson: boolean },
) {
  if (isJson) return <JsonPage frame={frame} shown={shown} part='upstream' />;
  return (
    <PoolLayout {...frame}>
      <p>
        A change applies at once; nothing restarts, and nobody who holds a slot loses it. Each form
        is saved by itself.
      </p>
      {Object.entries(PARTS).map(([path, change]) => {
        const [title, effect] = TOLD[path] ?? [path, ''];
        return (
          <section aria-label={title} class='card'>
            <h2>{title}</h2>
            <p class='effect'>{effect}</p>
            <ChangeForm name={path} change={change} shown={shown} />
          </section>
        );
      })}
      <UpstreamForm shown={shown} />
      <AsJson tab='settings' pool={frame.view.name} what='the upstream' />
    </PoolLayout>
  );
}
