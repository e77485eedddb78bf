// The library that reads the documentation sees what a reader sees, and says what is wrong with a command.
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { commandProblems } from '../../support/docs/check-command.ts';
import { anchorOf, commandsOf, headingsOf, linksOf, shellBlocks } from '../../support/docs/markdown.ts';
import { openShell } from '../../support/docs/shell.ts';

const PAGE = `# Title

## First

\`\`\`sh
# a comment, no title
kubectl get pods
\`\`\`

\`\`\`text
shown
\`\`\`

## Second: \`with\` code

1. In a list, [a link](other.md#there):

   \`\`\`bash
   export A=1   # why
   kubectl \\
     get nodes
   \`\`\`

\`\`\`console
$ kubectl version
v1
\`\`\`

\`\`\`yaml
key: [no](link.md)
\`\`\`
`;

describe('blocks of a page', () => {
  const blocks = shellBlocks('docs/page.md', PAGE);

  it('are those of a shell, with line, chapter and what is shown', () => {
    expect(blocks.map(({ line, chapter, shown }) => ({ line, chapter, shown }))).to.deep.equal([
      { line: 6, chapter: 'First', shown: 'shown\n' },
      { line: 19, chapter: 'Second: `with` code', shown: undefined },
      { line: 25, chapter: 'Second: `with` code', shown: undefined },
    ]);
  });

  it('have commands, each on one line, without comments, prompts and answers', () => {
    expect(blocks.map(({ text }) => commandsOf(text))).to.deep.equal([
      ['kubectl get pods'],
      ['export A=1', 'kubectl get nodes'],
      ['kubectl version'],
    ]);
  });

  it('keep a # within quotes or a word', () => {
    expect(commandsOf(`grep '# x' a#b # gone\n`)).to.deep.equal([`grep '# x' a#b`]);
  });

  it('hold neither titles nor links', () => {
    expect(headingsOf(PAGE)).to.deep.equal(['Title', 'First', 'Second: `with` code']);
    expect(linksOf('docs/page.md', PAGE)).to.deep.equal([
      { written: 'other.md#there', target: 'docs/other.md', anchor: 'there' },
    ]);
    expect(anchorOf('Second: `with` code')).to.equal('second-with-code');
  });
});

describe('a command that names what does not exist', () => {
  const cases = [
    { name: 'a target of make', command: 'make lunch', says: 'there is no target lunch' },
    { name: 'a script of npm', command: 'npm run lunch', says: 'package.json has no script lunch' },
    { name: 'a foreign package', command: 'npm install left-pad', says: 'npm install left-pad is not ours to tell' },
    { name: 'a file', command: 'kubectl apply -f example/lunch.yaml', says: 'example/lunch.yaml does not exist' },
    { name: 'a file after =', command: 'helm install a --values=charts/b', says: 'charts/b does not exist' },
    { name: 'a subcommand', command: 'kubectl topology lunch', says: 'there is no command kubectl-topology lunch' },
    {
      name: 'a flag of a subcommand, behind a variable and a pipe',
      command: 'cat x | KUBECONFIG=y kubectl topology audit --lunch 1',
      says: 'kubectl-topology audit has no flag --lunch',
    },
    {
      name: 'a flag of a command from its source',
      command: 'hack/node cmd/settings-reconciler/main.ts --lunch',
      says: 'settings-reconciler has no flag --lunch',
    },
  ];
  for (const { name, command, says } of cases) {
    it(`is told: ${name}`, () => {
      expect(commandProblems(command)).to.deep.equal([says]);
    });
  }

  it('is not reported where everything exists', () => {
    for (const command of [
      'make test TESTS=test/unit/routing/version.test.ts',
      'settings-reconciler --config config.yaml --dry-run -o json',
      'kubectl topology simulate web --gb-per-day 2000 -n shop',
      'kubectl apply -k example/plain',
    ])
      expect(commandProblems(command), command).to.deep.equal([]);
  });
});

describe('the shell of a reader', () => {
  it('has in a block what the one before exported, ends at the first failure, and shows both outputs', async () => {
    const shell = openShell({ path: [] });
    try {
      expect(await shell.run('export GREETING="good day"')).to.include({ status: 0 });
      expect(await shell.run('echo "$GREETING"; echo aside >&2')).to.deep.equal({
        status: 0,
        stdout: 'good day\n',
        stderr: 'aside\n',
      });
      expect(await shell.run('false | true\necho never')).to.include({ status: 1, stdout: '' });
      expect(shell.exported('GREETING')).to.equal('good day');
      expect(shell.exported('NOTHING')).to.equal(undefined);
    } finally {
      shell.close();
    }
  });
});
