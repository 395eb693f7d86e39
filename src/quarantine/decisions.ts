/** Choices of an operator for each group of changes since the backup. The first choice is the default. */
export const groupChoices = {
  keys: ['keep', 'revoke'],
  journals: ['charge', 'leave'],
  nodes: ['keep', 'forget'],
  payments: ['take', 'later'],
  mails: ['send', 'drop'],
  evaluations: ['run', 'drop'],
  taps: ['replay', 'skip'],
} as const;

export type DecisionGroup = keyof typeof groupChoices;

export const decisionGroups = Object.keys(groupChoices) as readonly DecisionGroup[];

export type Decisions = { readonly [G in DecisionGroup]?: (typeof groupChoices)[G][number] };

export const findUndecided = (needed: readonly DecisionGroup[], decisions: Decisions): DecisionGroup[] =>
  needed.filter((group) => decisions[group] === undefined);
