import 'reflect-metadata';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { declaredMetrics } from '#inside/platform/metrics/metrics-page';
import { Findings, partsFromArguments, runProof } from '../../test/system/findings';
import { stopProgramsOnInterrupt, projectFolder } from '../../test/system/program';
import { closeConnections } from '../failover/caller';
import { drills } from '../outages/drills';
import { checkRunbooks } from './check-runbooks';
import { type TelemetryFault, faults } from './faults';
import { PrometheusServer } from './prometheus-server';
import { checkRules, installPrometheus, trials, tryRules } from './promtool';
import { alertRules, metricsOf, panelQueries, ruleGroups } from './queries';
import { TelemetryTestbed } from './scene';

const parts = ['rules', 'drills', 'live'] as const;
/** Alerts of an expiring lease take half a minute. */
const FIRING_DEADLINE_MS = 60_000;
const RESOLVING_DEADLINE_MS = 45_000;
const TRAFFIC_MS = 20_000;

/** Series with values only if a backup schedule is set. */
const isBackupQuery = (expr: string): boolean => expr.includes('gateway_backup_');
/** Series of events that need not happen here. */
const RARE_SERIES = new Set([
  'gateway_unpriced_fees_total',
  'gateway_doubtful_usage_total',
  'gateway_webhook_events_total',
  'gateway_embedded_database_events_total',
]);

async function main(): Promise<void> {
  const selectedParts = partsFromArguments(parts);
  Logger.overrideLogger(['error']);
  stopProgramsOnInterrupt();
  const findings = new Findings('prove:telemetry');
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-telemetry-'));
  try {
    await installPrometheus();
    if (selectedParts.includes('drills')) checkDrills(findings);
    if (selectedParts.includes('rules')) await checkAllRules(findings, folder);
    if (selectedParts.includes('live')) await checkLive(findings, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  findings.end();
}

/** Verifies that every fault of prove:outages has a metric, an alert and a runbook. */
function checkDrills(findings: Findings): void {
  process.stdout.write('| Fault of prove:outages | Alert | Metrics |\n| --- | --- | --- |\n');
  const knownAlerts = new Set(alertRules.map(({ alert }) => alert));
  const declared = new Set(declaredMetrics().map(({ name }) => name));
  for (const { name, alerts } of drills.flat()) {
    for (const alert of alerts)
      process.stdout.write(
        `| ${name} | [${alert}](runbooks/${alert}.md) | ${metricsOf(alert).join(', ')} |\n`,
      );
    const incompleteAlerts = alerts.filter(
      (alert) =>
        !knownAlerts.has(alert) ||
        !existsSync(resolve(projectFolder, `docs/runbooks/${alert}.md`)) ||
        // `up` is a metric of Prometheus itself.
        metricsOf(alert).some((metric) => !declared.has(metric)),
    );
    findings.expectNoneWrong(
      `drill ${name}: each alert exists, with a page and metrics`,
      alerts.length,
      incompleteAlerts.length,
      incompleteAlerts.join(', ') || alerts.join(', '),
    );
  }
}

async function checkAllRules(findings: Findings, folder: string): Promise<void> {
  const { isGood, text } = await checkRules();
  findings.add('promtool check rules', isGood, isGood ? '' : text);
  const healthy = await tryRules(folder, null);
  findings.add('healthy series raise no alert', healthy.isGood, healthy.isGood ? '' : healthy.text);
  for (const trial of trials) {
    const { isGood: fires, text: why } = await tryRules(folder, trial);
    findings.add(`${trial.alert} fires on its series, and nothing else does`, fires, fires ? '' : why);
  }
  const tried = new Set(trials.map(({ alert }) => alert));
  const untried = alertRules.filter(({ alert }) => !tried.has(alert!)).map(({ alert }) => alert);
  findings.expectNoneWrong(
    'alerts without a trial',
    alertRules.length,
    untried.length,
    untried.join(', ') || 'none',
  );
}

async function checkLive(findings: Findings, folder: string): Promise<void> {
  const scene = await TelemetryTestbed.open();
  const prometheus = await PrometheusServer.start(join(folder, 'prometheus'));
  try {
    prometheus.scrape(scene.metricsUrls);
    scene.startLoad();
    for (const url of scene.metricsUrls) await prometheus.waitUntilScraped(url);
    await scene.causeFailures();
    await delay(TRAFFIC_MS);
    await checkQueries(findings, prometheus);
    await checkRunbooks(findings, prometheus, scene);
    await scene.stopLoad();
    for (const fault of faults) await checkFault(findings, prometheus, scene, fault);
  } finally {
    closeConnections();
    await prometheus.stop();
    await scene.close();
  }
}

/** Verifies that no panel is empty and no rule fails. */
async function checkQueries(findings: Findings, prometheus: PrometheusServer): Promise<void> {
  const panels = panelQueries.filter(({ expr }) => !isBackupQuery(expr));
  findings.addSkipped('panels of backups', 'no backup is made here', panelQueries.length - panels.length);
  const empty: string[] = [];
  for (const { panel, expr } of panels)
    if ((await prometheus.count(expr)) === 0) empty.push(`${panel}: ${expr}`);
  findings.addCases(
    'queries of panels with a result',
    panels.length,
    empty.length,
    empty.join('\n') || `${panels.length}`,
  );
  const rules = ruleGroups.flatMap((group) => group.rules);
  const brokenRules = await prometheus.brokenRules();
  findings.addCases(
    'rules that can be evaluated',
    rules.length,
    brokenRules.length,
    brokenRules.join('\n') || `${rules.length}`,
  );
  for (const { expr } of rules) await prometheus.count(expr);
  const names = await prometheus.metricNames();
  const queriedMetrics = new Set(
    alertRules.flatMap(({ alert }) => metricsOf(alert!)).filter((name) => !isBackupQuery(name)),
  );
  const has = (name: string): boolean => names.has(name) || names.has(`${name}_bucket`);
  const absent = [...queriedMetrics].filter((name) => !has(name) && !RARE_SERIES.has(name));
  findings.addCases(
    'metrics of alerts that a filled node shows',
    queriedMetrics.size,
    absent.length,
    absent.join(', ') || `${queriedMetrics.size}`,
  );
}

/** Verifies that the alerts fire and resolve when the fault is over. */
async function checkFault(
  findings: Findings,
  prometheus: PrometheusServer,
  scene: TelemetryTestbed,
  fault: TelemetryFault,
): Promise<void> {
  const { name, alerts, resolvingAlerts: goes } = fault;
  const prepared = await fault.prepare(scene);
  if (typeof prepared === 'string') return findings.addSkipped(name, prepared);
  const { node } = prepared;
  const own = node === undefined ? [] : [node.metricsUrl];
  const all = [...scene.metricsUrls, ...own];
  prometheus.scrape(all);
  for (const url of all) await prometheus.waitUntilScraped(url);
  const firingBefore = await prometheus.firing();
  const before = alerts.filter((alert) => firingBefore.has(alert));
  await prepared.strike();
  const missing = await prometheus.missing(alerts, FIRING_DEADLINE_MS);
  await prepared.mend();
  const lasting = await prometheus.lasting(goes, RESOLVING_DEADLINE_MS);
  findings.expectNoneWrong(`${name}: not before`, alerts.length, before.length, before.join(', ') || 'quiet');
  findings.expectNoneWrong(
    `${name}: fires`,
    alerts.length,
    missing.length,
    missing.length > 0 ? `not ${missing.join(', ')}` : alerts.join(', '),
  );
  if (goes.length > 0)
    findings.expectNoneWrong(
      `${name}: ends`,
      goes.length,
      lasting.length,
      lasting.length > 0 ? `not ${lasting.join(', ')}` : goes.join(', '),
    );
  prometheus.scrape(scene.metricsUrls);
  await prepared.close?.();
}

runProof(main);
