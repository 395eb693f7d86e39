export type LogEntry = Readonly<Record<string, unknown>>;

/** How long repetitions are counted before a line reports them. */
const WINDOW_MS = 10_000;
/** Maximum number of failures watched at a time; a further one ends the watch of the oldest. */
const MAX_FAILURES = 200;

interface WatchedFailure {
  /** Parts of the entry that are the same in every repetition. */
  readonly entry: LogEntry;
  count: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Writes a failure once with its stack, then counts repetitions and reports them without the stack every ten seconds. A
 * full disk fails thousands of statements for one reason.
 */
export class Repetitions {
  private readonly watched = new Map<string, WatchedFailure>();

  constructor(private readonly write: (entry: LogEntry) => void) {}

  handle(entry: LogEntry): void {
    const failure = failureKey(entry);
    if (failure === null) return this.write(entry);
    const existing = this.watched.get(failure);
    if (existing !== undefined) {
      existing.count += 1;
      return;
    }
    this.write(entry);
    const [oldest] = this.watched.keys();
    if (this.watched.size >= MAX_FAILURES && oldest !== undefined) this.end(oldest);
    const timer = setTimeout(() => this.onWindowEnd(failure), WINDOW_MS).unref();
    this.watched.set(failure, { entry: commonFields(entry), count: 0, timer });
  }

  /** Reports the counts so far, when the process is about to end. */
  flush(): void {
    for (const failure of this.watched.keys()) this.end(failure);
  }

  private onWindowEnd(failure: string): void {
    const existing = this.watched.get(failure);
    if (existing === undefined) return;
    if (existing.count === 0) return this.end(failure);
    this.report(existing);
    existing.timer.refresh();
  }

  private end(failure: string): void {
    const existing = this.watched.get(failure);
    if (existing === undefined) return;
    clearTimeout(existing.timer);
    this.watched.delete(failure);
    if (existing.count > 0) this.report(existing);
  }

  private report(existing: WatchedFailure): void {
    const { entry, count } = existing;
    existing.count = 0;
    const frequency = `repeated ${count} ${count === 1 ? 'time' : 'times'} in the last ${WINDOW_MS / 1_000} s`;
    const { level, msg, ...fields } = entry;
    this.write({
      level,
      time: new Date().toISOString(),
      ...fields,
      repeated: count,
      msg: `${String(msg)}: ${frequency}`,
    });
  }
}

/** Entries with the same key are the same failure; null if an entry has no stack, or is the last of its process. */
function failureKey(entry: LogEntry): string | null {
  const { level, context, msg, error } = entry;
  if (level === 'fatal' || typeof error !== 'object' || error === null) return null;
  const { type, code, message, stack } = error as LogEntry;
  if (typeof stack !== 'string') return null;
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  const part = Object.values(partOf(entry));
  return [level, context, normaliseText(msg), type, code ?? normaliseText(message), ...part, ...frames]
    .map(String)
    .join('\n');
}

/** Numbers and ids differ from one repetition to the next. */
const normaliseText = (text: unknown): string => String(text).replaceAll(/[0-9a-f-]*\d[0-9a-f-]*/gi, '#');

/** Parts of an extension are distinguished by name, even if several fail for one reason. */
const partOf = ({ extension, job, gate }: LogEntry): LogEntry =>
  extension === undefined ? { gate } : { extension, job, gate };

const commonFields = (entry: LogEntry): LogEntry => {
  const { level, context, msg, error } = entry;
  const { type, code, message } = error as LogEntry;
  return { level, context, msg, ...partOf(entry), error: { type, code, message } };
};
