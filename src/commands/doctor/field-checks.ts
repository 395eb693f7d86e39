import { type CheckContext, type CheckFinding, ok } from '../../checks';

const DESCRIPTIONS = {
  auto: 'left out where a budget or a wallet limits the caller, else forwarded',
  drop: 'left out',
  forward: 'forwarded under a hold of the complete context window',
} as const;

export async function checkUnknownFields({ database, settings }: CheckContext): Promise<CheckFinding> {
  const [counts] = await database.query<{ readonly keys: number; readonly organisations: number }>(
    `SELECT (SELECT count(*)::integer FROM api_key WHERE unknown_fields IS NOT NULL AND status = 'active') AS keys,
            (SELECT count(*)::integer FROM organisation WHERE unknown_fields IS NOT NULL) AS organisations`,
  );
  const { keys = 0, organisations = 0 } = counts ?? {};
  return ok(
    'unknown request fields',
    `${DESCRIPTIONS[settings.unknownFields]}; ${keys} keys and ${organisations} organisations choose for themselves`,
  );
}
