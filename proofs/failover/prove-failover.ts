import { Findings, partsFromArguments, runProof } from '../../test/system/findings';
import { closeConnections } from './caller';
import { type FailoverDrill, FailoverDrillContext } from './drill';
import { accounting } from './drills/accounting';
import { cut, malformedEvent, noTerminator } from './drills/broken-streams';
import { contentFilter, contextLength, prefill } from './drills/caller-mistakes';
import { totalOutage } from './drills/outage';
import { recovery } from './drills/recovery';
import { oneFailure, oneLimit, persistentFailure, persistentLimits, reset } from './drills/refusals';
import { lateFirstToken, noAnswer, stall } from './drills/silences';
import { noAnswers } from './drills/no-answers';
import { callersFaults, probeAwaited, sameLane, standIn } from './drills/lanes';
import { FailoverTestbed } from './testbed';
import { longLimits, shortLimits } from './limits';

const drills: readonly FailoverDrill[] = [
  oneLimit,
  persistentLimits,
  oneFailure,
  persistentFailure,
  reset,
  noAnswer,
  lateFirstToken,
  cut,
  stall,
  malformedEvent,
  noTerminator,
  contextLength,
  contentFilter,
  prefill,
  recovery,
  accounting,
  totalOutage,
  sameLane,
  callersFaults,
  probeAwaited,
  standIn,
  noAnswers,
];

/** Numbers select drills; --long uses the product's default limits. */
async function main(): Promise<void> {
  const args = process.argv.slice(2);
  const numberOf = ({ name }: FailoverDrill): string => name.split(' ')[0] ?? '';
  const numbers = partsFromArguments(drills.map(numberOf));
  const selectedDrills = drills.filter((drill) => numbers.includes(numberOf(drill)));
  const scenes = selectedDrills.flatMap(({ name: drill, scenes }) =>
    Object.entries(scenes).map(([name, layout]) => ({ drill, name, layout })),
  );
  const findings = new Findings('prove:failover');
  const testbed = await FailoverTestbed.open(scenes, args.includes('--long') ? longLimits : shortLimits);
  try {
    for (const drill of selectedDrills) await drill.run(new FailoverDrillContext(drill, testbed, findings));
  } finally {
    closeConnections();
    await testbed.close();
  }
  findings.end();
}

runProof(main);
