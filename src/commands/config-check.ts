import { describeEffective, loadSettings, NoProxy, spellingWarnings } from '../platform';
import type { CliCommand } from './command';

export const configCheck: CliCommand = {
  usage: 'config check',
  summary:
    'Shows the settings in force, secrets masked. Lists every fault and ends with 78 when there are some.',
  run(_words, context) {
    const settings = loadSettings(context.environment);
    for (const [group, effective] of Map.groupBy(describeEffective(settings), (setting) => setting.group)) {
      context.write(`${group}\n`);
      for (const { name, value } of effective) context.write(`  ${name.padEnd(36)}${value}\n`);
    }
    for (const warning of spellingWarnings(context.environment)) context.write(`! ${warning}\n`);
    for (const entry of new NoProxy(settings.noProxy).unreadable)
      context.write(`! NO_PROXY: "${entry}" stands for no host, address or network\n`);
    return Promise.resolve(0);
  },
};
