import { parseArgs } from 'node:util';
import {
  baseAddress,
  catalogueLoaded,
  safeguardsJudged,
  type CheckContext,
  credentialsAccepted,
  dataFolder,
  egress,
  engine,
  fail,
  type Finding,
  http2Ignored,
  mail,
  providersCertified,
  reasonOf,
  redis,
  secretsFit,
  settingNames,
  suppliersPaid,
  suppliersReachable,
} from '../../checks';
import { errorCode, servesPortal, type Settings } from '../../platform';
import type { Command, CommandContext } from '../command';
import { inspectDatabase, installationOf, settingsOfInstallation } from '../with-database';
import {
  auditChainFits,
  auditSealed,
  clockDifference,
  addressesDiffer,
  databaseAnswers,
  hostsProven,
  isDatabaseEmpty,
  jobsRun,
  jobsSucceed,
  nodesCounted,
  partitionsAhead,
  released,
  schemaComplete,
  secretsReadable,
} from './database-checks';
import { extensionLogins, roleRights } from './role-checks';
import { backupsMade } from './backup-checks';
import { unknownFieldsHandled } from './field-checks';
import { legalTexts } from './legal-checks';
import { loadedStyles } from '../extensions/loaded';
import { modelsKnown, vendorsAgree } from './model-checks';

export const doctor: Command = {
  usage: 'doctor [--vendors]',
  summary:
    'Examines an installation: database, clock, mail, Redis, data folder, secrets, catalogue, suppliers. ' +
    'Says what to do about what it finds; ends with 1 when something fails. --vendors also asks the vendors for their ' +
    'lists of models.',
  async run(words, context) {
    const { values } = parseArgs({ args: words, options: { vendors: { type: 'boolean', default: false } } });
    const settings = settingsOfInstallation(context.environment);
    const findings = [
      ...(await surroundings(settings, context)),
      ...(await database(settings, values.vendors, context)),
    ];
    context.write(`${installationOf(settings)}\n`);
    for (const finding of findings) context.write(lineOf(finding));
    const count = (verdict: Finding['verdict']): number =>
      findings.filter((finding) => finding.verdict === verdict).length;
    context.write(`doctor: ${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed\n`);
    return count('fail') === 0 ? 0 : 1;
  },
};

async function surroundings(settings: Settings, { environment }: CommandContext): Promise<Finding[]> {
  return [
    engine(),
    settingNames(environment),
    baseAddress(settings, environment),
    secretsFit(settings, environment),
    dataFolder(settings),
    ...(servesPortal(settings) ? [legalTexts(settings)] : []),
    ...(await Promise.all([mail(settings), redis(settings), backupsMade(settings)])),
    ...(await egress(settings)),
  ];
}

type Check = (patient: CheckContext) => Promise<Finding | Finding[]>;

const databaseChecks: readonly (readonly [string, Check])[] = [
  ['database', databaseAnswers],
  ['migrations', schemaComplete],
  ['database role', roleRights],
  ['extension logins', extensionLogins],
  ['stored secrets', secretsReadable],
  ['mail addresses', addressesDiffer],
  ['reseller hosts', hostsProven],
  ['clock', clockDifference],
  ['partitions', partitionsAhead],
  ['repeating jobs', jobsSucceed],
  ['job runners', jobsRun],
  ['nodes', nodesCounted],
  ['quarantine', released],
  ['audit seal', auditSealed],
  ['audit chain', auditChainFits],
  ['catalogue', catalogueLoaded],
  ['safeguards', safeguardsJudged],
  ['supplier keys', suppliersPaid],
  ['suppliers', suppliersReachable],
  ['certificates', providersCertified],
  ['HTTP/2', http2Ignored],
  ['models', modelsKnown],
  ['unknown request fields', unknownFieldsHandled],
  ['credentials', credentialsAccepted],
];

const vendorLists = ['vendors', vendorsAgree] as const;

const emptyDatabase = fail(
  'database',
  'has no tables of the service: no version has been started with it',
  'Check that DATABASE_URL names the database of this installation, or start the service once.',
);

const INVALID_PARAMETER = '22023';

async function database(
  settings: Settings,
  asksVendors: boolean,
  commandContext: CommandContext,
): Promise<Finding[]> {
  try {
    return await inspectDatabase(settings, async (opened) => {
      if (await isDatabaseEmpty(opened)) return [emptyDatabase];
      const findings: Finding[] = [];
      const styles = await loadedStyles(settings, commandContext);
      // One after the other: each may depend on what the one before found out about the connection.
      for (const [what, check] of asksVendors ? [...databaseChecks, vendorLists] : databaseChecks)
        findings.push(...(await examine(what, check, { settings, database: opened, styles })));
      return findings;
    });
  } catch (error) {
    // A server that no version was started with does not know the role of the service.
    if (errorCode(error) === INVALID_PARAMETER) return [emptyDatabase];
    return [
      fail('database', reasonOf(error), 'Check DATABASE_URL, or what keeps the embedded one from starting.'),
    ];
  }
}

async function examine(what: string, check: Check, patient: CheckContext): Promise<Finding[]> {
  try {
    return [await check(patient)].flat();
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

function lineOf({ verdict, what, found, advice }: Finding): string {
  const line = `${verdict.padEnd(4)}  ${what}: ${found}\n`;
  return advice === undefined ? line : `${line}      ${advice}\n`;
}
