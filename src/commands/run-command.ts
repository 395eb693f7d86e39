import { errorCode, EXIT_CONFIGURATION, SettingsError } from '../platform';
import { auditBreaks } from './audit-breaks';
import { auditExport } from './audit-export';
import { auditVerify } from './audit-verify';
import { type Command, type CommandContext, UsageError } from './command';
import { configCheck } from './config-check';
import { demoSeed } from './demo';
import { doctor } from './doctor';
import { extensionNew } from './extensions/extension-new';
import { applyGateway, exportGateway, planGateway } from './gateway-file';
import { modelsCompare } from './models-compare';
import { journalForget } from './journal-forget';
import { keyAudit } from './key-audit';
import { keyChange, keyRotate } from './key-change';
import { keyCreate } from './key-create';
import { keyList, keyRevoke } from './key-list';
import { moneyRerate } from './money-rerate';
import { moneyVerify } from './money-verify';
import { importLitellm, importModelsDev } from './price-import';
import { processorCheck } from './processor-check';
import { credentialsRewrap } from './credentials-rewrap';
import { rootKeyRotate } from './root-key-rotate';
import { secondFactorReset } from './second-factor-reset';
import { signInLink } from './sign-in-link';
import { tapForget, tapList, tapReplay } from './taps';
import { terminal } from './terminal';

/** By one word or by two. */
export const commands: Readonly<Record<string, Command>> = {
  plan: planGateway,
  apply: applyGateway,
  export: exportGateway,
  'import litellm-prices': importLitellm,
  'import models-dev': importModelsDev,
  'models compare': modelsCompare,
  'key create': keyCreate,
  'key list': keyList,
  'key change': keyChange,
  'key rotate': keyRotate,
  'key revoke': keyRevoke,
  'key audit': keyAudit,
  'root-key rotate': rootKeyRotate,
  'sign-in-link': signInLink,
  'second-factor reset': secondFactorReset,
  'credentials rewrap': credentialsRewrap,
  doctor,
  'config check': configCheck,
  'audit:export': auditExport,
  'audit:verify': auditVerify,
  'audit:breaks': auditBreaks,
  'money:verify': moneyVerify,
  'journal:forget': journalForget,
  'demo:seed': demoSeed,
  'money:rerate': moneyRerate,
  'processor:check': processorCheck,
  'tap:list': tapList,
  'tap:replay': tapReplay,
  'tap:forget': tapForget,
  'extension:new': extensionNew,
};

const EXIT_USAGE = 64;

export async function runCommand(words: string[]): Promise<void> {
  process.exitCode = await executeCommand(words, terminal);
}

/** Returns the exit code; every failure is reported in a sentence, never as an exception. */
export async function executeCommand(words: string[], context: CommandContext): Promise<number> {
  const { command, rest } = find(words);
  if (command === undefined) {
    const isAsked = words.length === 0 || words[0] === '--help';
    // A misspelt command that is led into a file leaves it empty.
    if (isAsked) context.write(overview());
    else context.writeStderr(overview());
    return isAsked ? 0 : EXIT_USAGE;
  }
  if (rest.includes('--help')) {
    context.write(`${command.usage}\n\n${command.summary}\n`);
    return 0;
  }
  try {
    return await command.run(rest, context);
  } catch (error) {
    context.writeStderr(`${error instanceof Error ? error.message : String(error)}\n`);
    if (!isMisuse(error)) return error instanceof SettingsError ? EXIT_CONFIGURATION : 1;
    context.writeStderr(`Usage: ${command.usage}\n`);
    return EXIT_USAGE;
  }
}

function find(words: string[]): { command: Command | undefined; rest: string[] } {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    if (Object.hasOwn(commands, name)) return { command: commands[name], rest: words.slice(length) };
  }
  return { command: undefined, rest: [] };
}

/** `parseArgs` of Node says so by the code of its error. */
const isMisuse = (error: unknown): boolean =>
  error instanceof UsageError || errorCode(error).startsWith('ERR_PARSE_ARGS_');

const overview = (): string =>
  [
    'Commands:',
    ...Object.values(commands).map(({ usage, summary }) => `  ${usage}\n      ${summary}`),
    '',
  ].join('\n');
