import type { Findings } from '../../test/system/findings';
import { Program } from '../../test/system/program';
import type { CheckLine } from './audit/check';

/** The audit gets only the path of its evidence. */
export async function runAudit(findings: Findings, program: string, evidence: string): Promise<void> {
  const auditor = Program.node(`proofs/invoices/audit/${program}`, [evidence], {}, { isKept: true });
  const { code, output, complaint } = await auditor.finish();
  const lines = output.split('\n').filter((text) => text !== '');
  for (const line of lines) {
    const { what, holds, found } = JSON.parse(line) as CheckLine;
    findings.add(what, holds, found);
  }
  const faults = code === 0 ? 'it checked nothing' : `ended with ${code}: ${complaint}`;
  if (code !== 0 || lines.length === 0) findings.add('the audit came to its end', false, faults);
}
