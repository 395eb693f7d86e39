import type { Findings } from '../support/findings';
import { Program } from '../support/program';
import type { CheckLine } from './audit/check';

/** The audit gets the path of its evidence and nothing else. */
export async function runAudit(findings: Findings, program: string, evidence: string): Promise<void> {
  const auditor = Program.node(`proofs/invoices/audit/${program}`, [evidence], {}, { isKept: true });
  const { code, output, complaint } = await auditor.finish();
  for (const line of output.split('\n').filter((text) => text !== '')) {
    const { what, holds, found } = JSON.parse(line) as CheckLine;
    findings.add(what, holds, found);
  }
  if (code !== 0) findings.add('the audit came to its end', false, `ended with ${code}: ${complaint}`);
}
