import 'reflect-metadata';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { declaredMetrics } from '#inside/platform/metrics/metrics-page';
import { Findings, partsGiven, runProof } from '../../test/system/findings';
import { endWithThisProcess, projectFolder } from '../../test/system/program';
import { closeConnections } from '../failover/caller';
import { drills } from '../outages/drills';
import { checkRunbooks } from './check-runbooks';
import { type Fault, faults } from './faults';
import { PrometheusServer } from './prometheus-server';
import { checkRules, installPrometheus, trials, tryRules } from './promtool';
import { alertRules, metricsOf, panelQueries, ruleGroups } from './queries';
import { Scene } from './scene';

const parts = ['rules', 'drills', 'live'] as const;
/** The alerts of a lease that ends take half a minute. */
const FIRES_MS = 60_000;
const GOES_MS = 45_000;
const TRAFFIC_MS = 20_000;

/** They have values only where a schedule of backups is set. */
const isOfBackups = (expr: string): boolean => expr.includes('gateway_backup_');
/** Series of what did not happen here, and need not. */
const rare = new Set([
  'gateway_unpriced_fees_total',
  'gateway_doubtful_usage_total',
  'gateway_webhook_events_total',
  'gateway_embedded_database_events_total',
]);

async function main(): Promise<void> {
  const wanted = partsGiven(parts);
  Logger.overrideLogger(['error']);
  endWithThisProcess();
  const findings = new Findings('prove:telemetry');
  const folder = mkdtempSync(join(tmpdir(), 'switchboard-telemetry-'));
  try {
    await installPrometheus();
    if (wanted.includes('drills')) checkDrills(findings);
    if (wanted.includes('rules')) await checkAllRules(findings, folder);
    if (wanted.includes('live')) await checkLive(findings, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  findings.end();
}

/** Every fault of prove:outages has its metric, its alert and its page. */
function checkDrills(findings: Findings): void {
  process.stdout.write('| Fault of prove:outages | Alert | Metrics |\n| --- | --- | --- |\n');
  const known = new Set(alertRules.map(({ alert }) => alert));
  const declared = new Set(declaredMetrics().map(({ name }) => name));
  for (const { name, alerts } of drills.flat()) {
    for (const alert of alerts)
      process.stdout.write(
        `| ${name} | [${alert}](runbooks/${alert}.md) | ${metricsOf(alert).join(', ')} |\n`,
      );
    const wrong = alerts.filter(
      (alert) =>
        !known.has(alert) ||
        !existsSync(resolve(projectFolder, `docs/runbooks/${alert}.md`)) ||
        // Whether a target answers is Prometheus' own.
        metricsOf(alert).some((metric) => !declared.has(metric)),
    );
    findings.over(
      `drill ${name}: each alert exists, with a page and metrics`,
      alerts.length,
      wrong.length,
      wrong.join(', ') || alerts.join(', '),
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
  findings.over('alerts without a trial', alertRules.length, untried.length, untried.join(', ') || 'none');
}

async function checkLive(findings: Findings, folder: string): Promise<void> {
  const scene = await Scene.open();
  const prometheus = await PrometheusServer.start(join(folder, 'prometheus'));
  try {
    prometheus.scrape(scene.metricsUrls);
    scene.begin();
    for (const url of scene.metricsUrls) await prometheus.knows(url);
    await scene.goWrong();
    await delay(TRAFFIC_MS);
    await checkQueries(findings, prometheus);
    await checkRunbooks(findings, prometheus, scene);
    await scene.rest();
    for (const fault of faults) await checkFault(findings, prometheus, scene, fault);
  } finally {
    closeConnections();
    await prometheus.stop();
    await scene.close();
  }
}

/** Nothing is asked in vain: no panel is empty, no rule fails. */
async function checkQueries(findings: Findings, prometheus: PrometheusServer): Promise<void> {
  const panels = panelQueries.filter(({ expr }) => !isOfBackups(expr));
  findings.leaveOut('panels of backups', 'no backup is made here', panelQueries.length - panels.length);
  const empty: string[] = [];
  for (const { panel, expr } of panels)
    if ((await prometheus.count(expr)) === 0) empty.push(`${panel}: ${expr}`);
  findings.many(
    'queries of panels with a result',
    panels.length,
    empty.length,
    empty.join('\n') || `${panels.length}`,
  );
  const rules = ruleGroups.flatMap((group) => group.rules);
  const broken = await prometheus.brokenRules();
  findings.many(
    'rules that can be evaluated',
    rules.length,
    broken.length,
    broken.join('\n') || `${rules.length}`,
  );
  for (const { expr } of rules) await prometheus.count(expr);
  const names = await prometheus.metricNames();
  const asked = new Set(
    alertRules.flatMap(({ alert }) => metricsOf(alert!)).filter((name) => !isOfBackups(name)),
  );
  const has = (name: string): boolean => names.has(name) || names.has(`${name}_bucket`);
  const absent = [...asked].filter((name) => !has(name) && !rare.has(name));
  findings.many(
    'metrics of alerts that a filled node shows',
    asked.size,
    absent.length,
    absent.join(', ') || `${asked.size}`,
  );
}

/** Its alerts really fire, and end when it is over. */
async function checkFault(
  findings: Findings,
  prometheus: PrometheusServer,
  scene: Scene,
  fault: Fault,
): Promise<void> {
  const { name, alerts, goes } = fault;
  const prepared = await fault.prepare(scene);
  if (typeof prepared === 'string') return findings.leaveOut(name, prepared);
  const { node } = prepared;
  const own = node === undefined ? [] : [node.metricsUrl];
  const all = [...scene.metricsUrls, ...own];
  prometheus.scrape(all);
  for (const url of all) await prometheus.knows(url);
  const early = await prometheus.firing();
  const before = alerts.filter((alert) => early.has(alert));
  await prepared.strike();
  const missing = await prometheus.missing(alerts, FIRES_MS);
  await prepared.mend();
  const lasting = await prometheus.lasting(goes, GOES_MS);
  findings.over(`${name}: not before`, alerts.length, before.length, before.join(', ') || 'quiet');
  findings.over(
    `${name}: fires`,
    alerts.length,
    missing.length,
    missing.length > 0 ? `not ${missing.join(', ')}` : alerts.join(', '),
  );
  if (goes.length > 0)
    findings.over(
      `${name}: ends`,
      goes.length,
      lasting.length,
      lasting.length > 0 ? `not ${lasting.join(', ')}` : goes.join(', '),
    );
  prometheus.scrape(scene.metricsUrls);
  await prepared.close?.();
}

runProof(main);
