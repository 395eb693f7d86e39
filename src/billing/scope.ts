/** `user` is the monthly budget that the platform gives a person, `user_budget` the one of their organisation. */
const scopeKinds = [
  'key',
  'project',
  'department',
  'user',
  'organisation',
  'wallet',
  'key_model',
  'user_budget',
] as const;

export type ScopeKind = (typeof scopeKinds)[number];

/** Something with this reference may have a limit. A scope without a rule is open; a wallet always has one. */
export interface LimitRef {
  readonly kind: ScopeKind;
  readonly id: number;
}

const places: Readonly<Record<ScopeKind, number>> = {
  key: 0,
  project: 1,
  department: 2,
  user: 3,
  organisation: 4,
  wallet: 5,
  key_model: 6,
  user_budget: 7,
};

/** A scope as one number, so that the hot path builds no text for a look-up. */
export const scopeKey = (ref: LimitRef): number => ref.id * 8 + places[ref.kind];

export const isScopeKind = (value: unknown): value is ScopeKind => scopeKinds.includes(value as ScopeKind);

/** The two budgets of a person, both in force at once: the platform's, and the one of their organisation. */
export const budgetsOfPerson = (
  id: number,
): [{ kind: 'user'; id: number }, { kind: 'user_budget'; id: number }] => [
  { kind: 'user', id },
  { kind: 'user_budget', id },
];

/** The attribution of a request, as the scopes whose limits it counts against. */
export function limitRefs(who: {
  readonly keyId: number | null;
  readonly projectId: number | null;
  readonly departmentId: number | null;
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly walletId: number | null;
  readonly keyModelId?: number | null;
}): LimitRef[] {
  const ids: readonly [ScopeKind, number | null][] = [
    ['key', who.keyId],
    ['project', who.projectId],
    ['department', who.departmentId],
    ['user', who.userId],
    ['user_budget', who.userId],
    ['organisation', who.organisationId],
    ['wallet', who.walletId],
    ['key_model', who.keyModelId ?? null],
  ];
  return ids.flatMap(([kind, id]) => (id === null ? [] : [{ kind, id }]));
}
