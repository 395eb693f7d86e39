import type { Command as ExtensionCommand } from '#extension';
import { ExtensionRefused, type Extensions, type Owned, tablesOf } from '../../extensions';
import { thrownWords } from '../../kernel';
import type { Command, CommandContext } from '../command';
import { withDatabase } from '../with-database';
import { giveCommandPorts } from './command-ports';
import { extensionsOf } from './loaded';

/** A word that can only be a command of an extension, where the service has none of that name. */
export const isForeignName = (word: string | undefined): word is string =>
  word !== undefined && /^[a-z][a-z0-9-]*:[a-z][a-z0-9-]*$/.test(word);

/** The commands of extensions by their names. None may have a name that is the service's. */
export async function extensionCommands(
  context: Pick<CommandContext, 'environment' | 'writeStderr'>,
  isTaken: (name: string) => boolean,
): Promise<ReadonlyMap<string, Command>> {
  const extensions = await extensionsOf(context);
  const found = new Map<string, Command>();
  for (const owned of extensions.commands) {
    const name = `${owned.extension}:${owned.part.name}`;
    if (isTaken(name))
      throw new ExtensionRefused(owned.extension, `its command ${name} is one of the service's own`);
    found.set(name, hostCommand(name, owned, extensions));
  }
  return found;
}

function hostCommand(
  name: string,
  { extension, part }: Owned<ExtensionCommand>,
  extensions: Extensions,
): Command {
  return {
    usage: part.usage === undefined ? name : `${name} ${part.usage}`,
    summary: `${part.summary} (Of the extension ${extension}.)`,
    run: (words, context) =>
      withDatabase(
        async (database, settings) => {
          const ports = giveCommandPorts(extensions, database, settings);
          try {
            return await runPart(name, part, { words, context });
          } finally {
            await ports.close();
          }
        },
        context,
        tablesOf(extensions.all),
      ),
  };
}

async function runPart(
  name: string,
  part: ExtensionCommand,
  { words, context }: { readonly words: string[]; readonly context: CommandContext },
): Promise<number> {
  let code: unknown;
  try {
    code = await part.run(words, {
      write: (text) => context.write(String(text)),
      writeError: (text) => context.writeStderr(String(text)),
    });
  } catch (cause) {
    throw new Error(`${name} failed: ${thrownWords(cause)}`, { cause });
  }
  if (code === undefined) return 0;
  if (Number.isInteger(code) && (code as number) >= 0 && (code as number) <= 255) return code as number;
  throw new Error(`${name} ended with a code that is not from 0 to 255`);
}
