import { Findings } from '../../test/system/findings';

/** One outage did this to those who called meanwhile. */
export interface OutageRow {
  readonly outage: string;
  /** Statuses and codes, with their counts. */
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

/** One line a check, one row an outage, and a last line that says how it went. */
export class Report extends Findings {
  private readonly rows: OutageRow[] = [];

  row(row: OutageRow): void {
    this.rows.push(row);
  }

  /** A skipped line names what could not be tried here. */
  skip(outage: string, why: string): void {
    this.leaveOut(outage, why);
    this.row({ outage, answers: `not run: ${why}`, time: '', lost: '', recovery: '' });
  }

  /** The table comes before the last line. */
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

/** The smallest value that so large a share of all does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

export const milliseconds = (value: number): string =>
  value < 10 ? `${value.toFixed(1)} ms` : `${Math.round(value).toLocaleString('en')} ms`;

export const seconds = (value: number): string => `${(value / 1_000).toFixed(1)} s`;

/** As in `p50 2.1 ms, p99 14 ms, most 20 ms`. */
export function spread(values: readonly number[]): string {
  if (values.length === 0) return 'none';
  const [half, nearlyAll, all] = [0.5, 0.99, 1].map((share) => milliseconds(percentile(values, share)));
  return `p50 ${half}, p99 ${nearlyAll}, most ${all}`;
}
