import { writeFileSync } from 'node:fs';
import { runProof } from '../../test/system/findings';
import { stopProgramsOnInterrupt } from '../../test/system/program';
import { type CheckedRow, isChecked, isUnseen, type SpecificationRow } from './row';
import { halves, rows } from './rows';
import { findDetectedBreakage } from './find-detected-breakage';
import { tableOf, tablePath } from './table';
import { SpecificationWorld } from './world';

/**
 * Tests every statement of the specification against the running build; arguments select sections (`4.2 4.3`, `4`) or
 * statements that contain a word. `--red` breaks the responses of each row to prove that it can fail, and `--write`
 * writes the table.
 */
async function main(): Promise<void> {
  if (process.argv.includes('--write')) return writeFileSync(tablePath, tableOf(rows));
  stopProgramsOnInterrupt();
  const isMutationRun = process.argv.includes('--red');
  const count: OutcomeCounts = { held: 0, decided: 0, red: 0, never: 0, broken: 0, unseen: 0 };
  const selectedRows = selectRows(rows);
  for (const half of halves) {
    const rowsOfHalf = half.filter((row) => selectedRows.has(row));
    if (rowsOfHalf.length > 0) await runRows(rowsOfHalf, isMutationRun ? checkCanFail : checkHolds, count);
  }
  const { held, decided, red, never, broken, unseen } = count;
  print(
    isMutationRun
      ? `\nprove:specification --red: ${red} seen red, ${never} never, ${broken} broken as they are, ${unseen} not checkable`
      : `\nprove:specification: ${held} held, ${decided} decided, ${broken} broken, ${unseen} not checkable`,
  );
  process.exitCode = held + decided + red > 0 && never + (isMutationRun ? 0 : broken) === 0 ? 0 : 1;
}

type OutcomeCounts = Record<'held' | 'decided' | 'red' | 'never' | 'broken' | 'unseen', number>;
type RowCheck = (one: CheckedRow, world: SpecificationWorld) => Promise<keyof OutcomeCounts>;

/** Returns the statements selected on the command line; all if none are named. */
function selectRows(all: readonly SpecificationRow[]): ReadonlySet<SpecificationRow> {
  const selectors = process.argv.slice(2).filter((word) => !word.startsWith('--'));
  const matches = (word: string, { section, statement }: SpecificationRow): boolean =>
    isSection(word) ? section === word || section.startsWith(`${word}.`) : statement.includes(word);
  const unknownSelectors = selectors.filter((word) => !all.some((row) => matches(word, row)));
  if (unknownSelectors.length > 0) throw new Error(`no statement has ${unknownSelectors.join(', ')}`);
  const [sections, words] = [selectors.filter(isSection), selectors.filter((word) => !isSection(word))];
  const isAmong = (list: readonly string[], row: SpecificationRow): boolean =>
    list.length === 0 || list.some((word) => matches(word, row));
  return new Set(all.filter((row) => isAmong(sections, row) && isAmong(words, row)));
}

const isSection = (word: string): boolean => /^[\d.]+$/.test(word);

/**
 * Opens a separate installation per half, because models created by gateway rows would fill the pages of the portal.
 */
async function runRows(
  selectedRows: readonly SpecificationRow[],
  check: RowCheck,
  count: OutcomeCounts,
): Promise<void> {
  const world = await SpecificationWorld.open();
  try {
    for (const one of selectedRows.filter(isChecked)) count[await check(one, world)] += 1;
  } finally {
    await world.close();
  }
  for (const { section, statement, why } of selectedRows.filter(isUnseen)) {
    count.unseen += 1;
    print(`unseen  ${section} ${statement}: ${why}`);
  }
}

/** Checks whether a statement holds. */
const checkHolds: RowCheck = async (one, world) => {
  const failure = await outcomeOf(one, world);
  const as = failure !== null ? 'broken' : one.decided === null ? 'held' : 'decided';
  if (failure !== null) print(`BROKEN  ${one.section} ${one.statement}\n          ${failure}`);
  else if (process.argv.includes('--each')) print(`${as.padEnd(7)} ${one.section} ${one.statement}`);
  return as;
};

/** Checks whether a statement that holds can fail. */
const checkCanFail: RowCheck = async (one, world) => {
  const what = `${one.section} ${one.statement}`;
  const result = await findDetectedBreakage(world, () => outcomeOf(one, world), one.statement);
  if (result.is === 'red') print(`red     ${what}: ${result.by}`);
  else if (result.is === 'never') print(`NEVER   ${what}`);
  else print(`broken  ${what}\n          ${result.failure}`);
  return result.is;
};

/** Returns the row's failure; null if it holds. */
async function outcomeOf({ check }: CheckedRow, world: SpecificationWorld): Promise<string | null> {
  try {
    await check(world);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

runProof(main);
