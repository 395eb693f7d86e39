import { groupChoices, type Decisions, type DecisionGroup, decisionGroups } from '../../quarantine';
import { IsOneOf, IsVerbatimLine } from '../../web';

/** A choice per group; the required groups depend on the quarantined data. */
export class ReleaseForm {
  @IsOneOf(groupChoices.keys, { optional: true })
  keys?: Decisions['keys'];

  @IsOneOf(groupChoices.journals, { optional: true })
  journals?: Decisions['journals'];

  @IsOneOf(groupChoices.nodes, { optional: true })
  nodes?: Decisions['nodes'];

  @IsOneOf(groupChoices.payments, { optional: true })
  payments?: Decisions['payments'];

  @IsOneOf(groupChoices.mails, { optional: true })
  mails?: Decisions['mails'];

  @IsOneOf(groupChoices.evaluations, { optional: true })
  evaluations?: Decisions['evaluations'];

  @IsOneOf(groupChoices.taps, { optional: true })
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
  @IsVerbatimLine(100)
  key: string;
}
