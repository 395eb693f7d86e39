import { randomInt } from 'node:crypto';
import { Findings, runProof } from '../../test/system/findings';
import { measureAnomalies, measureForecasts } from './measure';
import { SHAPES } from './synthetic-days';

/**
 * Simulates years of spending with new seeds: false alarms are rare and real anomalies detected, as docs/alerts.md
 * states.
 */

const ORGANISATIONS = 200;
const findings = new Findings('prove:alerts');

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** Formats a fractional hour such as 14.5 as a time. */
const timeOf = (hour: number): string =>
  `${Math.floor(hour)}:${String(Math.floor((hour % 1) * 60)).padStart(2, '0')}`;

function main(): Promise<void> {
  const firstSeed = Number(process.argv[2] ?? randomInt(1_000_000));
  process.stdout.write(`seeds from ${firstSeed} on, ${ORGANISATIONS} years each\n`);
  const seeds = Array.from({ length: ORGANISATIONS }, (_, index) => firstSeed + index);
  for (const shape of SHAPES) {
    const days = measureAnomalies(shape, seeds);
    const budgets = measureForecasts(shape, seeds);
    findings.check(
      `${shape}: false alarms a month`,
      'at most 1',
      `${days.falseAlarms.toFixed(2)} days, ${budgets.falseAlarms.toFixed(3)} a budget`,
      days.falseAlarms + budgets.falseAlarms <= 1,
    );
    findings.check(
      `${shape}: days with five times their usual`,
      'found before 16:00 where they are',
      `${percent(days.detectedShare)} found, at ${timeOf(days.foundAtHour)}`,
      days.foundAtHour < 16,
    );
    findings.check(
      `${shape}: budgets that run out`,
      shape === 'sparse' ? 'said to, at times' : 'said to, at least three of four',
      `${percent(budgets.foretold)} foretold, ${budgets.notice} days before`,
      shape === 'sparse' || budgets.foretold >= 0.75,
    );
  }
  findings.end();
  return Promise.resolve();
}

runProof(main);
