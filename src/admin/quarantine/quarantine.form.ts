import { line, oneOf } from '../../kernel';
import { ParsedBy } from '../../platform';
import { groupChoices, type Decisions, type DecisionGroup, decisionGroups } from '../../quarantine';

/** A choice per group; the required groups depend on the quarantined data. */
export class ReleaseForm {
  @ParsedBy(oneOf(groupChoices.keys).orBlank())
  keys?: Decisions['keys'];

  @ParsedBy(oneOf(groupChoices.journals).orBlank())
  journals?: Decisions['journals'];

  @ParsedBy(oneOf(groupChoices.nodes).orBlank())
  nodes?: Decisions['nodes'];

  @ParsedBy(oneOf(groupChoices.payments).orBlank())
  payments?: Decisions['payments'];

  @ParsedBy(oneOf(groupChoices.mails).orBlank())
  mails?: Decisions['mails'];

  @ParsedBy(oneOf(groupChoices.evaluations).orBlank())
  evaluations?: Decisions['evaluations'];

  @ParsedBy(oneOf(groupChoices.taps).orBlank())
  taps?: Decisions['taps'];
}

export const decisionsOf = (form: ReleaseForm): Decisions =>
  Object.fromEntries(
    decisionGroups.flatMap((group: DecisionGroup) =>
      form[group] === undefined ? [] : [[group, form[group]]],
    ),
  );

export class KeyForm {
  /** Public id of the key. */
  @ParsedBy(line(100))
  key: string;
}
