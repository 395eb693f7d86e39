import type { Schema } from './json-schema';

/** A value that its field does not take: what is wrong, and the name of that rule. */
export class Misfit {
  constructor(
    readonly type: string,
    /** The sentence that follows the name of the field. */
    readonly msg: string,
  ) {}
}

/** What a value is: how it is read, and how a description of the interface tells of it. */
export interface Kind<Value> {
  readonly schema: Schema;
  /** From the text of an address or a form, or from a value of JSON. */
  read(given: unknown): Value | Misfit;
}

interface Absence {
  readonly isRequired: boolean;
  /** Forms send what was left empty as an empty text. */
  readonly blankIsAbsent: boolean;
  readonly usual?: unknown;
}

const missing = new Misfit('missing', 'is missing');

/**
 * A parameter, declared once: its kind, and what its absence means. Reading, refusals and the description of the
 * interface follow from it. `Value` holds undefined where the field may be absent.
 */
export class Field<Value> {
  constructor(
    private readonly kind: Kind<unknown>,
    private readonly absence: Absence = { isRequired: true, blankIsAbsent: false },
  ) {}

  optional(): Field<Value | undefined> {
    return new Field<Value | undefined>(this.kind, { ...this.absence, isRequired: false });
  }

  default(usual: Exclude<Value, undefined>): Field<Exclude<Value, undefined>> {
    return new Field<Exclude<Value, undefined>>(this.kind, { ...this.absence, isRequired: false, usual });
  }

  /** The same, of a form that sends empty texts for what was left open. */
  orBlank(): Field<Value | undefined> {
    return new Field<Value | undefined>(this.kind, {
      ...this.absence,
      isRequired: false,
      blankIsAbsent: true,
    });
  }

  get isRequired(): boolean {
    return this.absence.isRequired;
  }

  get schema(): Schema {
    const { usual } = this.absence;
    return usual === undefined ? this.kind.schema : { ...this.kind.schema, default: usual };
  }

  read(given: unknown): Value | Misfit {
    const { isRequired, blankIsAbsent, usual } = this.absence;
    const isAbsent = given === undefined || (blankIsAbsent && given === '');
    if (!isAbsent) return this.kind.read(given) as Value | Misfit;
    return isRequired ? missing : (usual as Value);
  }
}
