import { EXIT_CONFIGURATION, SettingsError } from '../platform';
import type { Command } from './command';
import { moneyVerify } from './money-verify';
import { moneyRerate } from './money-rerate';

const commands: Readonly<Record<string, Command>> = {
  'money:verify': moneyVerify,
  'money:rerate': moneyRerate,
};

const EXIT_USAGE = 64;

export async function runCommand([name, ...words]: string[]): Promise<void> {
  const command = name === undefined ? undefined : commands[name];
  if (command === undefined || words.includes('--help')) {
    process.stdout.write(command === undefined ? overview() : `${command.usage}\n\n${command.summary}\n`);
    process.exitCode = command === undefined && name !== undefined && name !== '--help' ? EXIT_USAGE : 0;
    return;
  }
  try {
    process.exitCode = await command.run(words);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = error instanceof SettingsError ? EXIT_CONFIGURATION : 1;
  }
}

const overview = (): string =>
  [
    'Commands:',
    ...Object.values(commands).map(({ usage, summary }) => `  ${usage}\n      ${summary}`),
    '',
  ].join('\n');
