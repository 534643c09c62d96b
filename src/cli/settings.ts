/**
 * Turns the rows of the settings table into options of a command, and what was given into checked
 * settings. Commander takes a flag before its variable before the default.
 */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { ServeSettings, Setting } from '../config.ts';
import { SETTINGS } from '../config.ts';
import { EXIT, Stop } from './command.ts';

export function addSettings(command: Command, names: readonly (keyof typeof SETTINGS)[]): Command {
  for (const name of names) command.addOption(optionOf(SETTINGS[name]));
  return command;
}

function optionOf(setting: Setting): Option {
  const option = new Option(setting.flag, setting.about)
    .env(setting.environment)
    .argParser((text: string) => {
      const result = setting.schema.safeParse(text);
      if (result.success) return result.data;
      const why = result.error.issues[0]?.message ?? 'is not right';
      // Commander shows what came.
      if (!setting.mayHoldSecret) throw new InvalidArgumentError(`It ${why}.`);
      const [flag] = setting.flag.split(' ');
      throw new Stop(EXIT.usage, `${flag} or ${setting.environment} ${why}`);
    });
  if (setting.fallback === undefined) return option;
  return option.default(setting.schema.parse(setting.fallback), setting.fallback);
}

/** The settings as commander read them; checks what hangs together. */
export function serveSettings(options: Record<string, unknown>): ServeSettings {
  const settings = options as unknown as ServeSettings;
  if ((settings.tlsCert === undefined) !== (settings.tlsKey === undefined)) {
    throw new Stop(EXIT.usage, '--tls-cert and --tls-key go together; one of them is missing');
  }
  const bound = [settings, ...settings.poolListen ?? []]
    .filter(({ port }) => port !== 0).map(({ host, port }) => `${host}:${port}`);
  const twice = bound.find((address, at) => bound.indexOf(address) < at);
  if (twice === undefined) return settings;
  throw new Stop(EXIT.usage, `--pool-listen: ${twice} is the address of two listeners`);
}
