import { line, oneOf } from '../../kernel';
import { Takes } from '../../platform';
import { choices, type Decisions, type Group, groups } from '../../quarantine';

/** A choice for each group. Which of them are needed depends on what there is. */
export class ReleaseForm {
  @Takes(oneOf(choices.keys).orBlank())
  keys?: Decisions['keys'];

  @Takes(oneOf(choices.journals).orBlank())
  journals?: Decisions['journals'];

  @Takes(oneOf(choices.nodes).orBlank())
  nodes?: Decisions['nodes'];

  @Takes(oneOf(choices.payments).orBlank())
  payments?: Decisions['payments'];

  @Takes(oneOf(choices.mails).orBlank())
  mails?: Decisions['mails'];

  @Takes(oneOf(choices.evaluations).orBlank())
  evaluations?: Decisions['evaluations'];

  @Takes(oneOf(choices.taps).orBlank())
  taps?: Decisions['taps'];
}

export const decisionsIn = (form: ReleaseForm): Decisions =>
  Object.fromEntries(
    groups.flatMap((group: Group) => (form[group] === undefined ? [] : [[group, form[group]]])),
  );

export class KeyForm {
  /** The public id of the key. */
  @Takes(line(100))
  key: string;
}
