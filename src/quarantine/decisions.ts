/** For each group of what lies between: what an operator may choose. The first choice is what most will want. */
export const choices = {
  keys: ['keep', 'revoke'],
  journals: ['charge', 'leave'],
  nodes: ['keep', 'forget'],
  payments: ['take', 'later'],
  mails: ['send', 'drop'],
  evaluations: ['run', 'drop'],
  taps: ['replay', 'skip'],
} as const;

export type Group = keyof typeof choices;

export const groups = Object.keys(choices) as readonly Group[];

export type Decisions = { readonly [G in Group]?: (typeof choices)[G][number] };

/** The groups without a choice, of those that need one. */
export const undecided = (needed: readonly Group[], decisions: Decisions): Group[] =>
  needed.filter((group) => decisions[group] === undefined);
