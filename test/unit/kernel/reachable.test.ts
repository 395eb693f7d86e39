import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { type ErrorCode, isErrorCode, reachableCodes } from '../../../src/kernel';

const source = join(__dirname, '../../../src');

/**
 * Returns the codes that appear as first argument of `fault(…)`, directly or by a constant of the file, or that are
 * assigned to something named `code`.
 */
function raisedCodes(): Set<ErrorCode> {
  const codes = new Set<ErrorCode>();
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    const path = join(entry.parentPath, entry.name);
    const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
    const constants = new Map(
      file.statements
        .filter(ts.isVariableStatement)
        .flatMap(({ declarationList }) => declarationList.declarations)
        .map(({ name, initializer }) => [name.getText(), initializer]),
    );
    const collectCodes = (node: ts.Node): void => {
      if (ts.isStringLiteral(node) && isErrorCode(node.text)) codes.add(node.text);
      const constantValue = ts.isIdentifier(node) ? constants.get(node.text) : undefined;
      if (constantValue !== undefined) {
        constants.delete((node as ts.Identifier).text);
        collectCodes(constantValue);
      }
      node.forEachChild(collectCodes);
    };
    const visit = (node: ts.Node): void => {
      const isFaultCall =
        (ts.isCallExpression(node) || ts.isNewExpression(node)) &&
        /^(fault|Fault)$/.test(node.expression.getText());
      if (isFaultCall && node.arguments?.[0] !== undefined) collectCodes(node.arguments[0]);
      const isCodeAssignment =
        (ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node)) && node.name.getText() === 'code';
      if (isCodeAssignment && node.initializer !== undefined) collectCodes(node.initializer);
      node.forEachChild(visit);
    };
    if (!path.includes('errors/data')) visit(file);
  }
  return codes;
}

test('catalogue marks exactly the codes that the source raises as reachable', () => {
  expect([...reachableCodes].sort()).toEqual([...raisedCodes()].sort());
});
