import type { FaultRule } from '../../simulator/faults';
import type { RecordedRequest } from '../../simulator/recorder';
import { Program } from '../support/program';

export const SUPPLIER_KEY = 'sim-outages';

/** A supplier in a process of its own. */
export class SupplierProcess {
  private constructor(
    private readonly program: Program,
    readonly url: string,
    private readonly controlUrl: string,
  ) {}

  static async start(): Promise<SupplierProcess> {
    const words = ['--port', '0', '--control-port', '0', '--ring', '20000'];
    const program = Program.node('simulator/main.js', words);
    const [, url = '', controlUrl = ''] = await program.find(/"url":"([^"]+)","controlUrl":"([^"]+)"/);
    return new SupplierProcess(program, url, controlUrl);
  }

  /** In force until the answer is called. */
  async fault(rule: FaultRule): Promise<() => Promise<void>> {
    const { id } = await this.control<{ id: number }>('POST', '/faults', rule);
    return async () => void (await this.control('DELETE', `/faults/${id}`));
  }

  async requests(): Promise<readonly RecordedRequest[]> {
    return (await this.control<{ requests: RecordedRequest[] }>('GET', '/requests')).requests;
  }

  stop(): Promise<void> {
    return this.program.stop();
  }

  private async control<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(this.controlUrl + path, {
      method,
      signal: AbortSignal.timeout(30_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer as Answer;
  }
}
