import { Findings } from '../../test/system/findings';

/** Effect of an outage on callers during it. */
export interface OutageRow {
  readonly outage: string;
  /** Statuses and codes with their counts. */
  readonly answers: string;
  readonly time: string;
  readonly lost: string;
  readonly recovery: string;
}

const columns: readonly (readonly [title: string, field: keyof OutageRow])[] = [
  ['Outage', 'outage'],
  ['Answers meanwhile', 'answers'],
  ['Time to answer', 'time'],
  ['Lost', 'lost'],
  ['Recovery', 'recovery'],
];

/** Prints one line per check, one row per outage, and a summary line. */
export class OutageReport extends Findings {
  private readonly rows: OutageRow[] = [];

  row(row: OutageRow): void {
    this.rows.push(row);
  }

  /** Prints what could not be tested in this environment. */
  skip(outage: string, why: string): void {
    this.addSkipped(outage, why);
    this.row({ outage, answers: `not run: ${why}`, time: '', lost: '', recovery: '' });
  }

  /** Prints the table before the last line. */
  override end(): void {
    const lines = [
      columns.map(([title]) => title),
      columns.map(() => '---'),
      ...this.rows.map((row) => columns.map(([, field]) => row[field])),
    ];
    const table = lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
    process.stdout.write(`\n${table}\n`);
    super.end();
  }
}

/** Smallest value that at least this share of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

export const milliseconds = (value: number): string =>
  value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value).toLocaleString('en')} ms`;

export const seconds = (value: number): string => `${(value / 1_000).toFixed(1)} s`;

/** Formats as in `p50 2.1 ms, p99 14 ms, most 20 ms`. */
export function spread(values: readonly number[]): string {
  if (values.length === 0) return 'none';
  const [half, nearlyAll, all] = [0.5, 0.99, 1].map((share) => milliseconds(percentile(values, share)));
  return `p50 ${half}, p99 ${nearlyAll}, most ${all}`;
}
