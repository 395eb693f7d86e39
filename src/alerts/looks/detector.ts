import type { AlertOwner, Severity } from '../catalogue/kinds';
import type { ParameterName, AlertParameters } from '../catalogue/parameters';

export type AlertFacts = Readonly<Record<string, string | number>>;

export interface AlertCondition {
  readonly owner: AlertOwner;
  readonly departmentId?: number | null;
  /** Identifies the subject across detector runs. */
  readonly subject: string;
  /** Defaults to the severity of the kind. */
  readonly severity?: Severity;
  /**
   * Values for the text: names ending in `_nano` are money, names ending in `_at` are ISO 8601 instants. `what` is the
   * type of the object called `name`.
   */
  readonly facts: AlertFacts;
}

/** The database's time and the rules of one kind; parameters are null if the owner switched the kind off. */
interface DetectorContext {
  readonly now: Date;
  readonly parameters: (owner: AlertOwner) => AlertParameters | null;
  readonly minimum: (name: ParameterName) => number;
}

export type AlertDetector = (context: DetectorContext) => Promise<readonly AlertCondition[]>;
