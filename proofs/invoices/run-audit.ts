import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Findings } from '../support/findings';
import type { CheckLine } from './audit/check';

/** The audit gets the path of its evidence and nothing else. */
export async function runAudit(findings: Findings, program: string, evidence: string): Promise<void> {
  const auditor = spawn(process.execPath, [join(__dirname, 'audit', program), evidence], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(auditor, 'close');
  for await (const line of createInterface({ input: auditor.stdout })) {
    const { what, holds, found } = JSON.parse(line) as CheckLine;
    findings.add(what, holds, found);
  }
  const [code] = (await ended) as [number | null];
  if (code !== 0) findings.add('the audit came to its end', false, `ended with ${code}`);
}
