import type { Command, Host, Job } from '@switchboard/extension';
import { CostCentres, type ReportLine } from './cost-centres';

/** Returns the first day of the current month in UTC, or of one that is `months` away. */
export function monthAt(now: Date, months = 0): string {
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));
  return first.toISOString().slice(0, 10);
}

const textOf = (lines: readonly ReportLine[]): string =>
  lines
    .map((line) => `${line.organisation}\t${line.cost_centre}\t${line.requests}\t${line.cost_usd}\n`)
    .join('');

/** Sums up the previous month on the first day of each month. */
export const reportJob = (host: Host<undefined, 'db'>): Job => ({
  name: 'report',
  cron: '0 5 1 * *',
  async run() {
    const month = monthAt(new Date(), -1);
    const lines = await new CostCentres(host).report(month);
    host.log.info('the month was reported', { month, lines: lines.length });
  },
});

const WRONG_USAGE = 64;

/** `npm run cli -- cost-centres:report YYYY-MM` */
export const reportCommand = (host: Host<undefined, 'db'>): Command => ({
  name: 'report',
  usage: 'YYYY-MM',
  summary: 'Sums up a month that is over by cost centre.',
  async run([month = '', ...others], context) {
    const isMonth = /^20\d\d-(0[1-9]|1[0-2])$/.test(month) && others.length === 0;
    if (!isMonth || `${month}-01` >= monthAt(new Date())) {
      context.writeError('Name a month that is over, such as 2026-10.\n');
      return WRONG_USAGE;
    }
    context.write(textOf(await new CostCentres(host).report(`${month}-01`)));
    return 0;
  },
});
