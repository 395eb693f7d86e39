import type { AlertOwner, Severity } from '../catalogue/kinds';
import type { ParameterName, Parameters } from '../catalogue/parameters';

export type Facts = Readonly<Record<string, string | number>>;

/** Something that is so now, and that an alert tells of. */
export interface Condition {
  readonly owner: AlertOwner;
  readonly departmentId?: number | null;
  /** The same thing has the same subject, however often it is looked for. */
  readonly subject: string;
  /** It is that of the kind without this. */
  readonly severity?: Severity;
  /**
   * Values of its text: names ending in `_nano` are money, those in `_at` instants in ISO 8601. `what` is the kind of
   * the thing that `name` names.
   */
  readonly facts: Facts;
}

/** The database's time, and what rules say of one kind: null where an owner has it switched off. */
interface LookContext {
  readonly now: Date;
  readonly parameters: (owner: AlertOwner) => Parameters | null;
  /** The least that any owner has set: nothing below it is looked for. */
  readonly least: (name: ParameterName) => number;
}

/** Looks for the conditions of one kind of alert. */
export type Look = (context: LookContext) => Promise<readonly Condition[]>;
