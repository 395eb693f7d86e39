import { type CheckContext, type Finding, ok } from '../../checks';

const WORDS = {
  auto: 'left out where a budget or a wallet limits the caller, else forwarded',
  drop: 'left out',
  forward: 'forwarded under a hold of the complete context window',
} as const;

/** Reports how request fields that the gateway does not know are handled. */
export async function unknownFieldsHandled({ database, settings }: CheckContext): Promise<Finding> {
  const [counts] = await database.query<{ readonly keys: number; readonly organisations: number }>(
    `SELECT (SELECT count(*)::integer FROM api_key WHERE unknown_fields IS NOT NULL AND status = 'active') AS keys,
            (SELECT count(*)::integer FROM organisation WHERE unknown_fields IS NOT NULL) AS organisations`,
  );
  const { keys = 0, organisations = 0 } = counts ?? {};
  return ok(
    'unknown request fields',
    `${WORDS[settings.unknownFields]}; ${keys} keys and ${organisations} organisations choose for themselves`,
  );
}
