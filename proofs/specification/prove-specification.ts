import { writeFileSync } from 'node:fs';
import { runProof } from '../../test/system/findings';
import { endWithThisProcess } from '../../test/system/program';
import { type CheckedRow, isChecked, isUnseen, type Row } from './row';
import { halves, rows } from './rows';
import { seeRed } from './see-red';
import { tableOf, tablePath } from './table';
import { SpecificationWorld } from './world';

/**
 * Every statement of the specification, asked of the running artefact. Sections named on the command line run alone
 * (`4.2 4.3`; `4` is all of them), as do statements that hold one of the words named. `--red` breaks the answers that
 * each row gets until the row fails; a row that none of that makes fail checks nothing. `--write` writes the table of
 * all statements.
 */
async function main(): Promise<void> {
  if (process.argv.includes('--write')) return writeFileSync(tablePath, tableOf(rows));
  endWithThisProcess();
  const isRed = process.argv.includes('--red');
  const count: Count = { held: 0, decided: 0, red: 0, never: 0, broken: 0, unseen: 0 };
  const wanted = chosenOf(rows);
  for (const half of halves) {
    const chosen = half.filter((row) => wanted.has(row));
    if (chosen.length > 0) await ask(chosen, isRed ? redden : hold, count);
  }
  const { held, decided, red, never, broken, unseen } = count;
  say(
    isRed
      ? `\nprove:specification --red: ${red} seen red, ${never} never, ${broken} broken as they are, ${unseen} not checkable`
      : `\nprove:specification: ${held} held, ${decided} decided, ${broken} broken, ${unseen} not checkable`,
  );
  process.exitCode = held + decided + red > 0 && never + (isRed ? 0 : broken) === 0 ? 0 : 1;
}

type Count = Record<'held' | 'decided' | 'red' | 'never' | 'broken' | 'unseen', number>;
type Way = (one: CheckedRow, world: SpecificationWorld) => Promise<keyof Count>;

/** The statements that the command line names, all where it names none. */
function chosenOf(all: readonly Row[]): ReadonlySet<Row> {
  const named = process.argv.slice(2).filter((word) => !word.startsWith('--'));
  const names = (word: string, { section, statement }: Row): boolean =>
    isSection(word) ? section === word || section.startsWith(`${word}.`) : statement.includes(word);
  const unknown = named.filter((word) => !all.some((row) => names(word, row)));
  if (unknown.length > 0) throw new Error(`no statement has ${unknown.join(', ')}`);
  const [sections, words] = [named.filter(isSection), named.filter((word) => !isSection(word))];
  const isAmong = (list: readonly string[], row: Row): boolean =>
    list.length === 0 || list.some((word) => names(word, row));
  return new Set(all.filter((row) => isAmong(sections, row) && isAmong(words, row)));
}

const isSection = (word: string): boolean => /^[\d.]+$/.test(word);

/** In a world of their own: the models that rows of the gateway make would fill the pages of the portal. */
async function ask(chosen: readonly Row[], way: Way, count: Count): Promise<void> {
  const world = await SpecificationWorld.open();
  try {
    for (const one of chosen.filter(isChecked)) count[await way(one, world)] += 1;
  } finally {
    await world.close();
  }
  for (const { section, statement, why } of chosen.filter(isUnseen)) {
    count.unseen += 1;
    say(`unseen  ${section} ${statement}: ${why}`);
  }
}

/** The way tells whether a statement holds. */
const hold: Way = async (one, world) => {
  const saw = await outcomeOf(one, world);
  const as = saw !== null ? 'broken' : one.decided === null ? 'held' : 'decided';
  if (saw !== null) say(`BROKEN  ${one.section} ${one.statement}\n          ${saw}`);
  else if (process.argv.includes('--each')) say(`${as.padEnd(7)} ${one.section} ${one.statement}`);
  return as;
};

/** The way tells whether a statement that holds can fail. */
const redden: Way = async (one, world) => {
  const what = `${one.section} ${one.statement}`;
  const seen = await seeRed(world, () => outcomeOf(one, world), one.statement);
  if (seen.is === 'red') say(`red     ${what}: ${seen.by}`);
  else if (seen.is === 'never') say(`NEVER   ${what}`);
  else say(`broken  ${what}\n          ${seen.saw}`);
  return seen.is;
};

/** A row saw this instead of what it states; null where it holds. */
async function outcomeOf({ check }: CheckedRow, world: SpecificationWorld): Promise<string | null> {
  try {
    await check(world);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

runProof(main);
