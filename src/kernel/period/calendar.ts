export const budgetPeriods = ['daily', 'weekly', 'monthly', 'rolling', 'total'] as const;

export type BudgetPeriod = (typeof budgetPeriods)[number];
