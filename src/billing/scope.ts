/** `user` is the monthly budget set by the platform, `user_budget` the one set by the user's organisation. */
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

/** A scope that can have a limit. Without a rule a scope is unlimited; a wallet always has one. */
export interface LimitRef {
  readonly kind: ScopeKind;
  readonly id: number;
}

const scopeIndexes: Readonly<Record<ScopeKind, number>> = {
  key: 0,
  project: 1,
  department: 2,
  user: 3,
  organisation: 4,
  wallet: 5,
  key_model: 6,
  user_budget: 7,
};

/** Returns the scope as one number, so that the hot path builds no string for a lookup. */
export const scopeKey = (ref: LimitRef): number => ref.id * 8 + scopeIndexes[ref.kind];

export const isScopeKind = (value: unknown): value is ScopeKind => scopeKinds.includes(value as ScopeKind);

/** Returns the two budgets of a user, which apply at the same time: the platform's and the organisation's. */
export const budgetsOfUser = (
  id: number,
): [{ kind: 'user'; id: number }, { kind: 'user_budget'; id: number }] => [
  { kind: 'user', id },
  { kind: 'user_budget', id },
];

export function limitRefs(attribution: {
  readonly keyId: number | null;
  readonly projectId: number | null;
  readonly departmentId: number | null;
  readonly userId: number | null;
  readonly organisationId: number | null;
  readonly walletId: number | null;
  readonly keyModelId?: number | null;
}): LimitRef[] {
  const ids: readonly [ScopeKind, number | null][] = [
    ['key', attribution.keyId],
    ['project', attribution.projectId],
    ['department', attribution.departmentId],
    ['user', attribution.userId],
    ['user_budget', attribution.userId],
    ['organisation', attribution.organisationId],
    ['wallet', attribution.walletId],
    ['key_model', attribution.keyModelId ?? null],
  ];
  return ids.flatMap(([kind, id]) => (id === null ? [] : [{ kind, id }]));
}
