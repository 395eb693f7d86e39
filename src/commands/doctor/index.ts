import { parseArgs } from 'node:util';
import {
  checkBaseUrl,
  checkCatalogue,
  checkSafeguardsModel,
  type CheckContext,
  checkCredentials,
  checkDataFolder,
  checkEgress,
  checkEngine,
  fail,
  type CheckFinding,
  checkHttp2Settings,
  checkMail,
  checkProviderCertificates,
  reasonOf,
  checkRedis,
  checkSecrets,
  checkSettingNames,
  checkSupplierKeys,
  checkSuppliersReachable,
} from '../../checks';
import { errorCode, servesPortal, type Settings } from '../../platform';
import type { CliCommand, CliContext } from '../command';
import { inspectDatabase, describeInstallation, settingsOfInstallation } from '../with-services';
import {
  checkAuditChain,
  checkAuditSeal,
  checkClock,
  checkDuplicateAddresses,
  checkDatabaseVersion,
  checkResellerHosts,
  isDatabaseEmpty,
  checkJobRunners,
  checkRepeatingJobs,
  checkNodes,
  checkPartitions,
  checkQuarantine,
  checkSchema,
  checkStoredSecrets,
} from './database-checks';
import { checkExtensionLogins, checkRoleRights } from './role-checks';
import { checkBackups } from './backup-checks';
import { checkUnknownFields } from './field-checks';
import { checkLegalTexts } from './legal-checks';
import { loadStyles } from '../extensions/command-extensions';
import { checkModels, compareVendorLists } from './model-checks';

export const doctor: CliCommand = {
  usage: 'doctor [--vendors]',
  summary:
    'Examines an installation: database, clock, mail, Redis, data folder, secrets, catalogue, suppliers. ' +
    'Says what to do about what it finds; ends with 1 when something fails. --vendors also asks the vendors for their ' +
    'lists of models.',
  async run(argv, context) {
    const { values } = parseArgs({ args: argv, options: { vendors: { type: 'boolean', default: false } } });
    const settings = settingsOfInstallation(context.environment);
    const findings = [
      ...(await checkEnvironment(settings, context)),
      ...(await runDatabaseChecks(settings, values.vendors, context)),
    ];
    context.write(`${describeInstallation(settings)}\n`);
    for (const finding of findings) context.write(findingText(finding));
    const count = (verdict: CheckFinding['verdict']): number =>
      findings.filter((finding) => finding.verdict === verdict).length;
    context.write(`doctor: ${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed\n`);
    return count('fail') === 0 ? 0 : 1;
  },
};

async function checkEnvironment(settings: Settings, { environment }: CliContext): Promise<CheckFinding[]> {
  return [
    checkEngine(),
    checkSettingNames(environment),
    checkBaseUrl(settings, environment),
    checkSecrets(settings, environment),
    checkDataFolder(settings),
    ...(servesPortal(settings) ? [checkLegalTexts(settings)] : []),
    ...(await Promise.all([checkMail(settings), checkRedis(settings), checkBackups(settings)])),
    ...(await checkEgress(settings)),
  ];
}

type DoctorCheck = (checkContext: CheckContext) => Promise<CheckFinding | CheckFinding[]>;

const databaseChecks: readonly (readonly [string, DoctorCheck])[] = [
  ['database', checkDatabaseVersion],
  ['migrations', checkSchema],
  ['database role', checkRoleRights],
  ['extension logins', checkExtensionLogins],
  ['stored secrets', checkStoredSecrets],
  ['mail addresses', checkDuplicateAddresses],
  ['reseller hosts', checkResellerHosts],
  ['clock', checkClock],
  ['partitions', checkPartitions],
  ['repeating jobs', checkRepeatingJobs],
  ['job runners', checkJobRunners],
  ['nodes', checkNodes],
  ['quarantine', checkQuarantine],
  ['audit seal', checkAuditSeal],
  ['audit chain', checkAuditChain],
  ['catalogue', checkCatalogue],
  ['safeguards', checkSafeguardsModel],
  ['supplier keys', checkSupplierKeys],
  ['suppliers', checkSuppliersReachable],
  ['certificates', checkProviderCertificates],
  ['HTTP/2', checkHttp2Settings],
  ['models', checkModels],
  ['unknown request fields', checkUnknownFields],
  ['credentials', checkCredentials],
];

const vendorLists = ['vendors', compareVendorLists] as const;

const emptyDatabase = fail(
  'database',
  'has no tables of the service: no version has been started with it',
  'Check that DATABASE_URL names the database of this installation, or start the service once.',
);

const INVALID_PARAMETER = '22023';

async function runDatabaseChecks(
  settings: Settings,
  includesVendors: boolean,
  commandContext: CliContext,
): Promise<CheckFinding[]> {
  try {
    return await inspectDatabase(settings, commandContext, async (opened) => {
      if (await isDatabaseEmpty(opened)) return [emptyDatabase];
      const findings: CheckFinding[] = [];
      const styles = await loadStyles(settings, commandContext);
      // Run in sequence: each check may depend on what the previous one found out about the connection.
      for (const [what, check] of includesVendors ? [...databaseChecks, vendorLists] : databaseChecks)
        findings.push(...(await examine(what, check, { settings, database: opened, styles })));
      return findings;
    });
  } catch (error) {
    // A server that was never used by the service does not have its role.
    if (errorCode(error) === INVALID_PARAMETER) return [emptyDatabase];
    return [
      fail('database', reasonOf(error), 'Check DATABASE_URL, or what keeps the embedded one from starting.'),
    ];
  }
}

async function examine(
  what: string,
  check: DoctorCheck,
  checkContext: CheckContext,
): Promise<CheckFinding[]> {
  try {
    return [await check(checkContext)].flat();
  } catch (error) {
    return [fail(what, describeError(error), 'Skipped: fix the failures above first.')];
  }
}

/** PostgreSQL codes: undefined_table, undefined_column, undefined_function. */
const SCHEMA_ERRORS: readonly string[] = ['42P01', '42703', '42883'];

const INSUFFICIENT_PRIVILEGE = '42501';

function describeError(error: unknown): string {
  const code = errorCode(error);
  if (SCHEMA_ERRORS.includes(code)) return 'needs a table or column that the database does not have yet';
  if (code === INSUFFICIENT_PRIVILEGE) return 'the database login may not read what is checked';
  return reasonOf(error);
}

function findingText({ verdict, what, found, advice }: CheckFinding): string {
  const line = `${verdict.padEnd(4)}  ${what}: ${found}\n`;
  return advice === undefined ? line : `${line}      ${advice}\n`;
}
