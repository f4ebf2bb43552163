/* A program that pretends to be kustomize: it writes the content of the file `answer` in the directory that it is to build. If the first
 * line is `#endless`, it runs for ever; if it is `#mistake`, it fails with the lines that follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    char path[4096], text[65536];
    snprintf(path, sizeof path, "%s/answer", words[count - 1]);
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "Error: there is no %s\n", path);
        return 1;
    }
    size_t size = fread(text, 1, sizeof text, file);
    if (size > 8 && !strncmp(text, "#endless", 8))
        for (;;) sleep(1000);
    if (size > 9 && !strncmp(text, "#mistake\n", 9)) {
        fwrite(text + 9, 1, size - 9, stderr);
        return 1;
    }
    fwrite(text, 1, size, stdout);
    return 0;
}
