import { writeFileSync } from 'node:fs';
import { runProof } from '../support/findings';
import { endWithThisProcess } from '../support/program';
import { type CheckedRow, isChecked, isUnseen, type Row } from './row';
import { rows } from './rows';
import { seeRed } from './see-red';
import { tableOf, tablePath } from './table';
import { SpecificationWorld } from './world';

/**
 * Every statement of the specification, asked of the running artefact. Sections named on the command line run alone
 * (`4.2 4.3`; `4` is all of them). `--red` breaks the answers that each row gets until the row fails; a row that none
 * of that makes fail checks nothing. `--write` writes the table of all statements.
 */
async function main(): Promise<void> {
  if (process.argv.includes('--write')) return writeFileSync(tablePath, tableOf(rows));
  endWithThisProcess();
  const sections = process.argv.slice(2).filter((word) => !word.startsWith('--'));
  const chosen = rows.filter(
    ({ section }) =>
      sections.length === 0 || sections.some((one) => section === one || section.startsWith(`${one}.`)),
  );
  const world = await SpecificationWorld.open();
  try {
    const isGood = process.argv.includes('--red') ? await redden(chosen, world) : await hold(chosen, world);
    process.exitCode = isGood ? 0 : 1;
  } finally {
    await world.close();
  }
}

/** Whether all of them hold. */
async function hold(chosen: readonly Row[], world: SpecificationWorld): Promise<boolean> {
  const checked = chosen.filter(isChecked);
  let broken = 0;
  for (const one of checked) {
    const saw = await outcomeOf(one, world);
    if (saw !== null) broken += 1;
    if (saw !== null) say(`BROKEN  ${one.section} ${one.statement}\n          ${saw}`);
    else if (process.argv.includes('--each')) say(`held    ${one.section} ${one.statement}`);
  }
  const others = chosen.filter(isUnseen);
  for (const { section, statement, why } of others) say(`unseen  ${section} ${statement}: ${why}`);
  const held = checked.length - broken;
  say(`\nprove:specification: ${held} held, ${broken} broken, ${others.length} not checkable`);
  return broken === 0 && checked.length > 0;
}

/** Whether each of those that hold can fail. */
async function redden(chosen: readonly Row[], world: SpecificationWorld): Promise<boolean> {
  const count = { red: 0, never: 0, broken: 0 };
  for (const one of chosen.filter(isChecked)) {
    const what = `${one.section} ${one.statement}`;
    const seen = await seeRed(world, () => outcomeOf(one, world), one.statement);
    count[seen.is] += 1;
    if (seen.is === 'red') say(`red     ${what}: ${seen.by}`);
    else if (seen.is === 'never') say(`NEVER   ${what}`);
    else say(`broken  ${what}\n          ${seen.saw}`);
  }
  const { red, never, broken } = count;
  say(`\nprove:specification --red: ${red} seen red, ${never} never, ${broken} broken as they are`);
  return never === 0;
}

/** What a row saw instead of what it states, null where it holds. */
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
